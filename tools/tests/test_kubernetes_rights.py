"""The account of the Kubernetes guide may do what Spark asks of the API, and the server that tests submit to refuses
what its role does not grant."""

import json
import sys
import unittest
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jvm" / "system-tests" / "pyspark"))

from kubernetes_api import KubernetesApi  # noqa: E402
from kubernetes_rights import ACCOUNT, Rights  # noqa: E402

CORE = "/api/v1/namespaces/spark"
NETWORK = "/apis/networking.k8s.io/v1/namespaces/spark/networkpolicies"
POLICIES = '''  - apiGroups: [networking.k8s.io]
    resources: [networkpolicies]
    verbs: [create, get, patch, delete]
'''
# By the classes of spark-kubernetes_2.13 4.2.0: submit.Client creates the driver's pod and applies the other objects
# that KubernetesDriverBuilder's steps name; the driver's KubernetesClusterSchedulerBackend and ExecutorPodsAllocator.
ASKED = [
    ("POST", f"{CORE}/pods"), ("GET", f"{CORE}/pods"), ("GET", f"{CORE}/pods/driver"), ("PATCH", f"{CORE}/pods/exec-1"),
    ("DELETE", f"{CORE}/pods/exec-1"), ("DELETE", f"{CORE}/pods"), ("PATCH", f"{CORE}/configmaps/conf"),
    ("DELETE", f"{CORE}/configmaps"), ("PATCH", f"{CORE}/services/driver"), ("DELETE", f"{CORE}/services"),
    ("POST", f"{CORE}/persistentvolumeclaims"), ("GET", f"{CORE}/persistentvolumeclaims"),
    ("PATCH", f"{NETWORK}/job-policy"), ("DELETE", f"{NETWORK}/job-policy"), ("GET", "/version"), ("GET", "/api")]


def account():
    return ACCOUNT.read_text(encoding="utf-8")


class KubernetesRightsTest(unittest.TestCase):
    def test_the_account_may_do_what_spark_asks(self):
        rights = Rights.of_account(account())
        for method, path in ASKED:
            self.assertIsNone(rights.refusal(method, path, exists=False))
        self.assertIsNone(rights.refusal("GET", f"{CORE}/pods", watched=True))

    def test_it_may_do_nothing_else(self):
        rights = Rights.of_account(account())
        for method, path in [
                ("GET", f"{CORE}/secrets"), ("POST", f"{CORE}/pods/driver/exec"), ("GET", "/api/v1/nodes"),
                ("POST", "/api/v1/namespaces"), ("GET", "/api/v1/namespaces/default/pods"),
                ("DELETE", NETWORK), ("PUT", f"{CORE}/pods/driver"), ("POST", "/version"),
                ("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/spark/roles"),
                ("PATCH", f"{CORE}/networkpolicies/job-policy")]:
            self.assertIsNotNone(rights.refusal(method, path), f"{method} {path}")

    def test_without_the_rule_of_network_policies_they_are_refused(self):
        self.assertEqual(1, account().count(POLICIES))
        rights = Rights.of_account(account().replace(POLICIES, ""))
        self.assertIn("cannot create", rights.refusal("PATCH", f"{NETWORK}/job-policy", exists=False))
        self.assertIn("cannot patch", rights.refusal("PATCH", f"{NETWORK}/job-policy"))

    def test_applying_what_is_not_there_needs_both_rights(self):
        only = Rights.of_account(account().replace("[create, get, patch, delete]", "[patch]"))
        self.assertIn("cannot create", only.refusal("PATCH", f"{NETWORK}/job-policy", exists=False))
        self.assertIsNone(only.refusal("PATCH", f"{NETWORK}/job-policy", exists=True))

    def test_a_role_that_is_written_otherwise_is_no_role_without_rules(self):
        for damaged in (account().replace("[networkpolicies]", "\n      - networkpolicies"),
                        account().replace("apiGroups", "groups")):
            with self.assertRaises(ValueError):
                Rights.of_account(damaged)

    def test_the_server_answers_403_and_keeps_nothing(self):
        policy = json.dumps({"kind": "NetworkPolicy", "metadata": {"name": "job-policy"}}).encode()
        with KubernetesApi(Rights.of_account(account().replace(POLICIES, ""))) as api:
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.patch(api, policy)
            self.assertEqual(403, refused.exception.code)
            self.assertIn("networkpolicies", json.load(refused.exception)["message"])
            self.assertEqual({}, api.objects)
            self.assertEqual(1, len(api.refusals))
        with KubernetesApi() as api:
            self.assertEqual(200, self.patch(api, policy))
            self.assertEqual([], api.refusals)

    def patch(self, api, body):
        request = urllib.request.Request(f"{api.url}{NETWORK}/job-policy", data=body, method="PATCH")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status


if __name__ == "__main__":
    unittest.main()
