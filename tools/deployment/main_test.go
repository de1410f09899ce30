package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const guides = "../../docs/deployment/kubernetes"

func text(t *testing.T, name string) string {
	content, err := os.ReadFile(filepath.Join(guides, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestDamagedManifestsAreRefused(t *testing.T) {
	const sriov, apache = "sriov-network.yaml", "spark-application-apache.yaml"
	damages := []struct{ file, old, new, complaint string }{
		{sriov, "  resourceName: rdma\n", "", "spec.resourceName"},
		{sriov, "  resourceName: rdma\n", "  resourceName: my-rdma\n", "my-rdma"},
		{sriov, "    feature.node.kubernetes.io/network-sriov.capable: \"true\"\n", "", "spec.nodeSelector"},
		{sriov, "    vendor: \"15b3\"\n", "", "spec.nicSelector"},
		{sriov, "  numVfs: 8\n", "", "spec.numVfs"},
		{sriov, "  numVfs: 8\n", "  numVfs: many\n", "SriovNetworkNodePolicy"},
		{sriov, "  isRdma: true\n", "  rdma: true\n", "unknown field"},
		{sriov, "deviceType: netdevice", "deviceType: vfio-pci", "spec.isRdma"},
		{sriov, "deviceType: netdevice", "deviceType: card", "spec.deviceType"},
		{sriov, "linkType: eth", "linkType: wire", "spec.linkType"},
		{sriov, "      \"cniVersion\": \"1.0.0\",\n", "", "cniVersion"},
		{sriov, "      \"type\": \"sriov\",\n", "", "no plugin"},
		{sriov, "\"name\": \"sluice-rdma\",", "\"name\": \"sluice-rdma\"", "not JSON"},
		{sriov, "    k8s.v1.cni.cncf.io/resourceName: openshift.io/rdma\n", "", "no function"},
		{apache, "    sparkVersion: 4.1.1\n", "", "sparkVersion"},
		{apache, "  jars: local:///opt/spark/work-dir/job.jar\n", "", "no program"},
		{apache, "    spark.kubernetes.container.image: registry.example/spark-sluice:ubuntu\n", "", "container.image"},
		{apache, "    spark.executor.cores: \"4\"\n", "    spark.executor.cores: 4\n", "SparkApplication"},
		{apache, "  mainClass:", "  class:", "unknown field"},
		{apache, "                mountPath:", "                path:", "unknown field"},
		{"spark-application.yaml", "  mode: cluster\n", "  modes: cluster\n", "unknown field"},
	}
	for _, damage := range damages {
		whole := text(t, damage.file)
		if strings.Count(whole, damage.old) != 1 {
			t.Errorf("%s has not one '%s'", damage.file, damage.old)
		}
		if err := manifests([]byte(whole)); err != nil {
			t.Errorf("%s: %v", damage.file, err)
		}
		err := manifests([]byte(strings.Replace(whole, damage.old, damage.new, 1)))
		if err == nil || !strings.Contains(err.Error(), damage.complaint) {
			t.Errorf("%s with '%s' for '%s': %v", damage.file, damage.new, damage.old, err)
		}
	}
}

// The pod names the network, the network the resource, the policy makes it.
func TestSriovFilesAgree(t *testing.T) {
	var policy sriovNetworkNodePolicy
	var network networkAttachmentDefinition
	var pod corev1.Pod
	documents := strings.Split(text(t, "sriov-network.yaml"), "\n---\n")
	for index, into := range []any{&policy, &network} {
		if err := read([]byte(documents[index]), into); err != nil {
			t.Fatal(err)
		}
	}
	if err := read([]byte(text(t, "executor-rdma-sriov.yaml")), &pod); err != nil {
		t.Fatal(err)
	}
	resource := "openshift.io/" + policy.Spec.ResourceName
	if network.Annotations[resourceAnnotation] != resource {
		t.Errorf("the network's functions are %s, the policy's %s", network.Annotations[resourceAnnotation], resource)
	}
	if _, asked := pod.Spec.Containers[0].Resources.Limits[corev1.ResourceName(resource)]; !asked {
		t.Errorf("the pod does not ask for %s", resource)
	}
	if name := pod.Annotations["k8s.v1.cni.cncf.io/networks"]; name != network.Name {
		t.Errorf("the pod is in the network %s, not in %s", name, network.Name)
	}
	var plugin struct{ Name string }
	if err := json.Unmarshal([]byte(network.Spec.Config), &plugin); err != nil || plugin.Name != network.Name {
		t.Errorf("the plugin's network is %s: %v", plugin.Name, err)
	}
}
