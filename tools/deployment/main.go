// Reads what docs/deployment tells people to build and to apply with the programs' own parsers: Dockerfiles with
// BuildKit's parser and linter, manifests with the types of the Kubernetes API, of Kubeflow's Spark operator, and of
// resources.go. Fails for an unknown instruction, flag or field, a value of a wrong type, a missing field that must be
// there, and a kind that it does not know.
//
//	go run . FILE…        *.yaml and *.json are manifests, with --- between several; other files are Dockerfiles
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kubeflow/spark-operator/v2/api/v1beta2"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// The kinds that the guides use, and what a manifest of each is read into.
var kinds = map[string]func() any{
	"v1 Pod":                                        func() any { return new(corev1.Pod) },
	"v1 Service":                                    func() any { return new(corev1.Service) },
	"v1 ConfigMap":                                  func() any { return new(corev1.ConfigMap) },
	"v1 Namespace":                                  func() any { return new(corev1.Namespace) },
	"v1 ServiceAccount":                             func() any { return new(corev1.ServiceAccount) },
	"apps/v1 DaemonSet":                             func() any { return new(appsv1.DaemonSet) },
	"networking.k8s.io/v1 NetworkPolicy":            func() any { return new(networkingv1.NetworkPolicy) },
	"rbac.authorization.k8s.io/v1 Role":             func() any { return new(rbacv1.Role) },
	"rbac.authorization.k8s.io/v1 RoleBinding":      func() any { return new(rbacv1.RoleBinding) },
	"sparkoperator.k8s.io/v1beta2 SparkApplication": func() any { return new(v1beta2.SparkApplication) },
	"spark.apache.org/v1 SparkApplication":          func() any { return new(apacheSparkApplication) },
	"sriovnetwork.openshift.io/v1 SriovNetworkNodePolicy": func() any {
		return new(sriovNetworkNodePolicy)
	},
	"k8s.cni.cncf.io/v1 NetworkAttachmentDefinition": func() any {
		return new(networkAttachmentDefinition)
	},
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . FILE…")
		os.Exit(2)
	}
	failed := false
	for _, name := range os.Args[1:] {
		if err := check(name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
	fmt.Printf("%d files are as they must be\n", len(os.Args)-1)
}

func check(name string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".json") {
		return manifests(content)
	}
	return dockerfile(content)
}

func manifests(content []byte) error {
	documents := 0
	for _, document := range bytes.Split(content, []byte("\n---\n")) {
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		documents++
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			return err
		}
		kind := head.APIVersion + " " + head.Kind
		make, known := kinds[kind]
		if !known {
			return fmt.Errorf("document %d is of an unknown kind, '%s'", documents, kind)
		}
		manifest := make()
		if err := read(document, manifest); err != nil {
			return fmt.Errorf("document %d is no %s: %w", documents, kind, err)
		}
		if more, ok := manifest.(checked); ok {
			if err := more.check(); err != nil {
				return fmt.Errorf("document %d, %s: %w", documents, kind, err)
			}
		}
	}
	if documents == 0 {
		return errors.New("no manifest is in it")
	}
	return nil
}

// As the API server does: a number where a text must be is an error, which yaml.UnmarshalStrict would take for text.
func read(document []byte, manifest any) error {
	content, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	return decoder.Decode(manifest)
}

func dockerfile(content []byte) error {
	parsed, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		return err
	}
	var complaints []error
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, where []parser.Range) {
		complaints = append(complaints, fmt.Errorf("%s: %s", rule, message))
	}})
	stages, arguments, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		return err
	}
	if len(stages) == 0 || len(arguments) == 0 {
		return errors.New("it has no stage, or no argument for its base")
	}
	for _, warning := range parsed.Warnings {
		complaints = append(complaints, errors.New(warning.Short))
	}
	return errors.Join(complaints...)
}
