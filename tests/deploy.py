"""What no tool knows of deploy/, for tests/deploy.

    deploy.py kubernetes RENDERED…      times that bound one another, and what no pod may lack
    deploy.py runbooks RULES PAGE       every alert's link is whole, and leads to a heading
    deploy.py expressions DASHBOARD     its queries as rules, for promtool to parse
"""

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


def kubernetes(*files):
    for file in files:
        with open(file) as text:
            resources = [it for it in yaml.safe_load_all(text) if it]
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


{"kubernetes": kubernetes, "runbooks": runbooks, "expressions": expressions}[sys.argv[1]](*sys.argv[2:])
