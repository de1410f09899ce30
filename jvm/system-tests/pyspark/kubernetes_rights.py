"""What an account may do to the objects of its namespace, by a Role as docs/deployment/kubernetes/account.yaml has
it. Knows what that file uses: rules with lists in brackets, and no names of single objects."""

import re
from pathlib import Path

ACCOUNT = Path(__file__).resolve().parents[3] / "docs" / "deployment" / "kubernetes" / "account.yaml"
RULE = re.compile(r"^ +- apiGroups: \[(.*)\]\n +resources: \[(.*)\]\n +verbs: \[(.*)\]$", re.MULTILINE)
OBJECTS = re.compile(r"/(?:api|apis/(?P<group>[^/]+))/[^/]+/namespaces/(?P<namespace>[^/]+)/(?P<kind>[^/]+)"
                     r"(?:/(?P<name>[^/]+))?(?:/(?P<part>[^/]+))?")
# What the API tells of itself to everybody (the role system:discovery).
OPEN = re.compile(r"/(version|healthz|livez|readyz|api|apis(/[^/]+(/[^/]+)?)?|api/v1|openapi/.*)/?")


class Rights:
    """Rules as (groups, kinds, verbs), and the namespace that they are for."""

    def __init__(self, namespace, rules):
        self.namespace = namespace
        self.rules = rules

    @classmethod
    def of_account(cls, text):
        """What the Role named spark grants in the text of account.yaml."""
        role, = [each for each in text.split("\n---\n") if re.search(r"^kind: Role$", each, re.MULTILINE)]
        rules = [tuple({word.strip(' "') for word in words.split(",")} for words in rule)
                 for rule in RULE.findall(role)]
        if not rules or len(rules) != role.count("apiGroups"):
            raise ValueError(f"a rule of this role is written in another way than the others:\n{role}")
        return cls(re.search(r"^  namespace: (\S+)$", role, re.MULTILINE)[1], rules)

    def refusal(self, method, path, watched=False, exists=True):
        """None if the request is granted, else as the API server says it.

        exists: whether the object of a PATCH is there; applying one that is not creates it, which needs both rights."""
        if method == "GET" and OPEN.fullmatch(path):
            return None
        found = OBJECTS.fullmatch(path)
        if found is None:
            return f"{method} {path}: a role of a namespace grants nothing here"
        group, namespace, name = found["group"] or "", found["namespace"], found["name"]
        kind = f"{found['kind']}/{found['part']}" if found["part"] else found["kind"]
        verbs = {"GET": ["watch" if watched else "get" if name else "list"], "POST": ["create"], "PUT": ["update"],
                 "PATCH": ["patch"] if exists else ["create", "patch"],
                 "DELETE": ["delete" if name else "deletecollection"]}[method]
        for verb in verbs:
            if namespace != self.namespace or not any(
                    group in groups and kind in kinds and verb in granted for groups, kinds, granted in self.rules):
                return (f"{kind}.{group or 'core'} {name or ''} is forbidden: the account cannot {verb} resource "
                        f'"{kind}" in API group "{group}" in the namespace "{namespace}"')
        return None
