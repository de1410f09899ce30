// Makes the keys and certificates of a control plane that lives for one test: a certificate authority, the certificate
// of its servers for loopback and the names by which pods know them, by which they know each other as clients too, and
// the key that signs the tokens of accounts. The authority's own key is kept nowhere.
//
//	go run . FOLDER        writes ca.crt, server.crt, server.key and tokens.key
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const lifetime = 24 * time.Hour

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . FOLDER")
		os.Exit(2)
	}
	if err := writeKeys(os.Args[1], time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeKeys(folder string, now time.Time) error {
	authority := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	server := x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "control-plane"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local"},
	}
	var keys [3]*ecdsa.PrivateKey
	for index := range keys {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		keys[index] = key
	}
	root, err := x509.CreateCertificate(rand.Reader, &authority, &authority, &keys[0].PublicKey, keys[0])
	if err != nil {
		return err
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &server, &authority, &keys[1].PublicKey, keys[0])
	if err != nil {
		return err
	}
	for name, block := range map[string]func() (*pem.Block, error){
		"ca.crt":     func() (*pem.Block, error) { return certificateBlock(root), nil },
		"server.crt": func() (*pem.Block, error) { return certificateBlock(leaf), nil },
		"server.key": func() (*pem.Block, error) { return keyBlock(keys[1]) },
		"tokens.key": func() (*pem.Block, error) { return keyBlock(keys[2]) },
	} {
		content, err := block()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func certificateBlock(der []byte) *pem.Block { return &pem.Block{Type: "CERTIFICATE", Bytes: der} }

func keyBlock(key *ecdsa.PrivateKey) (*pem.Block, error) {
	der, err := x509.MarshalECPrivateKey(key)
	return &pem.Block{Type: "EC PRIVATE KEY", Bytes: der}, err
}
