"""What no tool knows of deploy/, for tests/deploy.

    deploy.py kubernetes RENDERED…      times that bound one another, and what no pod may lack
    deploy.py chart KUSTOMIZED CHARTED  the same objects, but for what only a chart has
    deploy.py runbooks RULES PAGE       every alert's link is whole, and leads to a heading
    deploy.py expressions DASHBOARD     its queries as rules, for promtool to parse
    deploy.py step WORKFLOW JOB NAME    the script of a step of a workflow
"""

import difflib
import json
import re
import sys

import yaml


def need(holds, what):
    if not holds:
        sys.exit(f"tests/deploy: {what}")


def seconds(duration):
    value, unit = re.fullmatch(r"(\d+)([smh])", duration).groups()
    return int(value) * {"s": 1, "m": 60, "h": 3600}[unit]


def objects(file):
    with open(file) as text:
        return [it for it in yaml.safe_load_all(text) if it]


def kubernetes(*files):
    for file in files:
        resources = objects(file)
        settings = {name: value for it in resources if it["kind"] == "ConfigMap" for name, value in it["data"].items()}
        for resource in resources:
            kind = resource["kind"]
            need(kind != "Secret", f"{file} has a secret in it")
            if kind == "CronJob":
                scheduled(file, resource["spec"], settings)
            job = resource["spec"].get("jobTemplate", resource) if "spec" in resource else {}
            template = job.get("spec", {}).get("template")
            if template:
                need(template["spec"].get("enableServiceLinks") is False, f"{file}: {kind}: enableServiceLinks")
                need(template["spec"].get("automountServiceAccountToken") is False, f"{file}: {kind}: a token")
                silent(file, template["spec"])


# Every process of a machine may read the arguments of the others.
def silent(file, pod):
    secret = re.compile(r"(?i)printenv|(url|passw|secret|token)|\$\(?PG")
    for container in pod.get("initContainers", []) + pod["containers"]:
        said = " ".join(container.get("command", []) + container.get("args", []))
        need(not secret.search(said), f"{file}: {container['name']} is given a secret as an argument: {said}")


def scheduled(file, cron, settings):
    every = int(re.fullmatch(r"\*/(\d+) \* \* \* \*", cron["schedule"]).group(1)) * 60
    job = cron["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    need(cron["startingDeadlineSeconds"] < every, f"{file}: startingDeadlineSeconds is not below the interval")
    need(
        seconds(settings["SWEEP_DEADLINE"]) + pod["terminationGracePeriodSeconds"] <= job["activeDeadlineSeconds"] < every,
        f"{file}: not SWEEP_DEADLINE and the grace period ≤ activeDeadlineSeconds < the interval",
    )
    if job.get("completionMode") == "Indexed":
        shards = pod["containers"][0]["args"]
        expected = ["--output", "ndjson", "--shard", f"$(JOB_COMPLETION_INDEX)/{job['completions']}"]
        need(shards == expected and job["parallelism"] == job["completions"], f"{file}: {shards}, expected {expected}")


# What a chart has alone. A kustomization has its namespace, and names with a hash of what is in them, instead of the checksum.
ONLY_CHART = {"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart", "checksum/settings"}
ONLY_CHART |= {"helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy"}
HASH = re.compile(r"(sweep|sweep-role)-[a-z0-9]{10}")


def comparable(it):
    if isinstance(it, dict):
        held = {key: comparable(value) for key, value in it.items() if key not in ONLY_CHART}
        return {key: value for key, value in held.items() if not (key == "annotations" and value == {})}
    if isinstance(it, list):
        return [comparable(value) for value in it]
    return HASH.sub(r"\1", it) if isinstance(it, str) and HASH.fullmatch(it) else it


def chart(kustomized, charted):
    sides = []
    for file in kustomized, charted:
        named = {f"{it['kind']} {it['metadata']['name']}": it for it in map(comparable, objects(file))}
        sides.append({name: yaml.safe_dump(it).splitlines() for name, it in named.items() if not name.startswith("Namespace ")})
    for name in sorted({*sides[0], *sides[1]}):
        lines = difflib.unified_diff(*(side.get(name, []) for side in sides), "kustomization", "chart", lineterm="", n=1)
        difference = "\n".join(lines)
        need(not difference, f"the chart's {name} is another one:\n{difference}")


def runbooks(rules, page):
    with open(page) as text:
        headings = re.findall(r"^#+ (.*)$", text.read(), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    with open(rules) as text:
        alerts = [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
    # A receiver of alerts knows no folder to which a link could be relative.
    links = {alert["annotations"]["runbook_url"].split("#")[0] for alert in alerts}
    need(len(links) == 1 and re.fullmatch(r"https://[^/]+/.*docs/runbook\.md", *links), f"runbooks are at {links}")
    for alert in alerts:
        name, said = alert["alert"], alert["annotations"]
        need(set(said) == {"summary", "description", "runbook_url"}, f"{name} has {', '.join(said)}")
        anchor = said["runbook_url"].split("#")[1]
        need(anchor in anchors, f"{name}: {page} has no heading for #{anchor}")


def expressions(dashboard):
    with open(dashboard) as text:
        panels = json.load(text)["panels"]
    need(all(panel["title"] and panel["description"] for panel in panels), "a panel lacks its title or description")
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    rules = [{"record": f"panel:{place}", "expr": query} for place, query in enumerate(queries)]
    yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}, sys.stdout)


def step(workflow, job, name):
    print(*(it["run"] for it in objects(workflow)[0]["jobs"][job]["steps"] if it.get("name") == name))


{"chart": chart, "kubernetes": kubernetes, "runbooks": runbooks, "expressions": expressions, "step": step}[sys.argv[1]](*sys.argv[2:])
