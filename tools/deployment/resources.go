// Custom resources whose projects have no small Go module of their types: the fields of their published definitions
// (CRDs), what those require, and what the guides' files need besides to work.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A manifest that must fulfil more than the types of its fields.
type checked interface {
	check() error
}

// sriovnetwork.openshift.io/v1, by the SR-IOV network operator's definition of July 2026 (249e2001).
type sriovNetworkNodePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ResourceName      string            `json:"resourceName"`
		NodeSelector      map[string]string `json:"nodeSelector"`
		NicSelector       nicSelector       `json:"nicSelector"`
		NumVfs            int               `json:"numVfs"`
		Priority          int               `json:"priority,omitempty"`
		Mtu               int               `json:"mtu,omitempty"`
		DeviceType        string            `json:"deviceType,omitempty"`
		IsRdma            bool              `json:"isRdma,omitempty"`
		LinkType          string            `json:"linkType,omitempty"`
		ESwitchMode       string            `json:"eSwitchMode,omitempty"`
		NeedVhostNet      bool              `json:"needVhostNet,omitempty"`
		ExternallyManaged bool              `json:"externallyManaged,omitempty"`
		ExcludeTopology   bool              `json:"excludeTopology,omitempty"`
		VdpaType          string            `json:"vdpaType,omitempty"`
	} `json:"spec"`
}

type nicSelector struct {
	Vendor      string   `json:"vendor,omitempty"`
	DeviceID    string   `json:"deviceID,omitempty"`
	PfNames     []string `json:"pfNames,omitempty"`
	RootDevices []string `json:"rootDevices,omitempty"`
	NetFilter   string   `json:"netFilter,omitempty"`
}

var resourceName = regexp.MustCompile(`^[a-zA-Z0-9_]+$`)

func (p *sriovNetworkNodePolicy) check() error {
	nics := p.Spec.NicSelector
	switch {
	case !resourceName.MatchString(p.Spec.ResourceName):
		return fmt.Errorf("spec.resourceName must be letters, digits and _, and is '%s'", p.Spec.ResourceName)
	case len(p.Spec.NodeSelector) == 0:
		return errors.New("spec.nodeSelector is missing")
	case nics.Vendor+nics.DeviceID+nics.NetFilter == "" && len(nics.PfNames)+len(nics.RootDevices) == 0:
		return errors.New("spec.nicSelector is missing")
	case p.Spec.NumVfs < 1:
		return errors.New("spec.numVfs is missing, or makes no function")
	case p.Spec.Mtu < 0 || p.Spec.Priority < 0 || p.Spec.Priority > 99:
		return errors.New("spec.mtu or spec.priority is out of range")
	case !slices.Contains([]string{"", "netdevice", "vfio-pci"}, p.Spec.DeviceType):
		return fmt.Errorf("spec.deviceType '%s' is unknown", p.Spec.DeviceType)
	case !slices.Contains([]string{"", "eth", "ETH", "ib", "IB"}, p.Spec.LinkType):
		return fmt.Errorf("spec.linkType '%s' is unknown", p.Spec.LinkType)
	case p.Spec.IsRdma && p.Spec.DeviceType == "vfio-pci":
		return errors.New("spec.isRdma needs spec.deviceType netdevice")
	}
	return nil
}

// k8s.cni.cncf.io/v1, by the network plumbing working group's definition: Config is the JSON of a CNI plugin.
type networkAttachmentDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Config string `json:"config"`
	} `json:"spec"`
}

const resourceAnnotation = "k8s.v1.cni.cncf.io/resourceName"

func (d *networkAttachmentDefinition) check() error {
	var plugin struct {
		CniVersion, Name, Type string
		Plugins                []json.RawMessage
	}
	if err := json.Unmarshal([]byte(d.Spec.Config), &plugin); err != nil {
		return fmt.Errorf("spec.config is missing, or not JSON: %w", err)
	}
	switch {
	case plugin.CniVersion == "" || plugin.Name == "":
		return errors.New("spec.config needs cniVersion and name")
	case plugin.Type == "" && len(plugin.Plugins) == 0:
		return errors.New("spec.config names no plugin")
	case d.Annotations[resourceAnnotation] == "":
		return errors.New("the annotation " + resourceAnnotation + " is missing: pods would get no function")
	}
	return nil
}

// spark.apache.org/v1, by the definition of Apache's operator of August 2026 (d5acafd2). What the guides do not use is
// not looked into.
type apacheSparkApplication struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		MainClass                string            `json:"mainClass,omitempty"`
		Jars                     string            `json:"jars,omitempty"`
		PyFiles                  string            `json:"pyFiles,omitempty"`
		SparkRFiles              string            `json:"sparkRFiles,omitempty"`
		Files                    string            `json:"files,omitempty"`
		DriverArgs               []string          `json:"driverArgs,omitempty"`
		DeploymentMode           string            `json:"deploymentMode,omitempty"`
		ProxyUser                string            `json:"proxyUser,omitempty"`
		SparkConf                map[string]string `json:"sparkConf,omitempty"`
		RuntimeVersions          runtimeVersions   `json:"runtimeVersions"`
		DriverSpec               podTemplate       `json:"driverSpec,omitempty"`
		ExecutorSpec             podTemplate       `json:"executorSpec,omitempty"`
		ApplicationTolerations   json.RawMessage   `json:"applicationTolerations,omitempty"`
		ConfigMapSpecs           json.RawMessage   `json:"configMapSpecs,omitempty"`
		DriverGrpcRouteList      json.RawMessage   `json:"driverGrpcRouteList,omitempty"`
		DriverHttpRouteList      json.RawMessage   `json:"driverHttpRouteList,omitempty"`
		DriverServiceIngressList json.RawMessage   `json:"driverServiceIngressList,omitempty"`
	} `json:"spec"`
}

type runtimeVersions struct {
	SparkVersion string `json:"sparkVersion"`
	ScalaVersion string `json:"scalaVersion,omitempty"`
	JdkVersion   string `json:"jdkVersion,omitempty"`
}

type podTemplate struct {
	PodTemplateSpec corev1.PodTemplateSpec `json:"podTemplateSpec,omitempty"`
}

func (a *apacheSparkApplication) check() error {
	switch {
	case a.Spec.RuntimeVersions.SparkVersion == "":
		return errors.New("spec.runtimeVersions.sparkVersion is missing")
	case a.Spec.Jars+a.Spec.PyFiles+a.Spec.SparkRFiles == "":
		return errors.New("spec names no program: jars, pyFiles or sparkRFiles")
	case a.Spec.SparkConf["spark.kubernetes.container.image"] == "":
		return errors.New("spec.sparkConf has no spark.kubernetes.container.image")
	}
	return nil
}
