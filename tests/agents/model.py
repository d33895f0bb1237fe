#!/usr/bin/env python3
"""Stands in for the models' APIs, so that real agents can be started without one: on loopback only, at a port that the
system chooses and that is printed. Speaks Anthropic's /v1/messages, OpenAI's /v1/chat/completions and /v1/responses, and
Gemini's :generateContent and :streamGenerateContent. What it answers is the argument:

  tool           the first turn is a call of the agent's shell tool, `rm -rf ./important`; later turns are a sentence
  edit           the first turn is a call of the agent's tool that writes files; later turns are a sentence
  question       the first turn is a call of the agent's tool that asks its user; later turns are a sentence
  aider          a text in which aider finds the command
  aider-edit     a text in which aider finds the file
  text           forty lines, one word at a time
  short          a sentence
  hang           the beginning of an answer, and then nothing, ever
  refuse-quota   429, as the provider says it when there is no quota left
  context        400, as the provider says it when the prompt is too long
"""

import argparse
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMAND = "rm -rf ./important"
FILE, CONTENT = "notes.txt", "one\ntwo\nthree\n"
PATCH = f"*** Begin Patch\n*** Add File: {FILE}\n" + "".join(f"+{line}\n" for line in CONTENT.splitlines()) + "*** End Patch\n"
QUESTION, ANSWERS = "Which database should the shop use?", ["SQLite", "PostgreSQL"]
# The words with which aider's model asks for a command, and for a file.
AIDER = {
    "aider": f"I will look after it.\n\n```bash\n{COMMAND}\n```\n",
    "aider-edit": f"I will look after it.\n\n{FILE}\n```\n<<<<<<< SEARCH\n=======\n{CONTENT}>>>>>>> REPLACE\n```\n",
}
SENTENCE = "Done: there is nothing more to do here."
SUBJECTS = ["The first table", "A customer", "An order", "Every line of it", "The stock", "A delivery", "The invoice", "A refund"]
PREDICATES = [
    "is kept in a file of its own,",
    "has a number that never changes,",
    "is written before it is answered for,",
    "says who it belongs to,",
    "is read more often than it is written,",
]
LINES = [f"{SUBJECTS[n % 8]} {PREDICATES[n % 5]} see line {n + 1}." for n in range(40)]

SHELLS = ["Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "local_shell", "run_in_terminal"]
WRITERS = ["Write", "write_file", "create", "write", "create_file", "apply_patch"]
ASKERS = ["AskUserQuestion", "ask_user_question", "ask_user", "question", "request_user_input"]


def tools(request):
    """Each tool that a request offers, by name: the schema of its arguments, or None if it takes free text."""
    found = {}
    given = list(request.get("tools") or [])
    # Codex offers them beside the conversation, in groups.
    for item in request["input"] if isinstance(request.get("input"), list) else []:
        given += [each for group in item.get("tools") or [] for each in group.get("tools", [group])]
    for tool in given:
        for each in tool.get("functionDeclarations", [tool]):
            each = each["function"] if isinstance(each.get("function"), dict) else each
            if each.get("name"):
                schema = each.get("input_schema") or each.get("parametersJsonSchema") or each.get("parameters")
                found[each["name"]] = None if each.get("type") == "custom" and not schema else schema or {}
    return found


# Codex asks for a title. Qwen Code updates its memory, and suggests what its user may say next.
ASIDES = ["Generate a concise, single-line task title", "also update the managed memory index", "Reply with ONLY the suggestion"]


def is_aside(request):
    """True if a request is beside the conversation, such as one for a title. Most such requests offer no tools."""
    asked = json.dumps(request)
    return not tools(request) and "SEARCH/REPLACE" not in asked or any(words in asked for words in ASIDES)


def filled(schema, known, name=""):
    """Arguments that a schema accepts: what is known by name, and something for whatever else it requires."""
    kind = str(schema.get("type", "")).lower()
    if name in known and not (kind == "array" and isinstance(known[name], str)):
        return known[name]
    if kind == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        wanted = set(schema.get("required", [])) | (set(known) & set(properties))
        return {key: filled(properties.get(key, {}), known, key) for key in properties if key in wanted}
    if kind == "array":
        if name in known:
            return ["bash", "-lc", known[name]]
        return [filled(schema.get("items", {}), known, name)]
    if schema.get("enum"):
        return schema["enum"][0]
    return {"boolean": False, "number": 1, "integer": 1}.get(kind, name or "text")


def call(scenario, request, cwd):
    """The tool to be called, as (name, arguments), or None."""
    offered = tools(request)
    wanted = {"tool": SHELLS, "edit": WRITERS, "question": ASKERS}.get(scenario, [])
    if "exec" in offered and offered["exec"] is None:
        # Codex has one tool, a program in JavaScript that calls the others.
        escalated = '"sandbox_permissions": "require_escalated", "justification": "Do you want me to tidy up?"'
        patch = json.dumps(PATCH)
        program = {
            "tool": f'text(await tools.exec_command({{"cmd": "{COMMAND}", {escalated}}}));',
            "edit": f"text(await tools.apply_patch({patch}));",
        }.get(scenario)
        if program:
            return "exec", program
    name = next((name for name in wanted if name in offered), None)
    if name is None:
        return None
    if offered[name] is None:
        return name, PATCH
    if scenario == "tool":
        known = {"command": COMMAND, "cmd": COMMAND, "description": "Remove the folder"}
    elif scenario == "edit":
        path = f"{cwd}/{FILE}"
        known = dict.fromkeys(["file_path", "filePath", "path", "absolute_path"], path)
        known |= dict.fromkeys(["content", "file_text", "contents"], CONTENT)
    else:
        options = [{"label": label, "description": f"Keep everything in {label}"} for label in ANSWERS]
        known = {"question": QUESTION, "header": "Database", "multiSelect": False, "multiple": False, "type": "choice", "id": "database"}
        known["options"] = options
        known["message"] = QUESTION
        answer = {"type": "string", "title": "Database", "enum": ANSWERS}
        known["requestedSchema"] = {"type": "object", "properties": {"database": answer}, "required": ["database"]}
        schema = offered[name].get("properties", {})
        if "choices" in schema:
            known["choices"] = ANSWERS
        known.pop("type" if "type" not in json.dumps(schema.get("questions", {}).get("items", {}).get("required", "")) else "", None)
    return name, filled(offered[name], known)


def words(text):
    for line in text.splitlines(keepends=True):
        for n, word in enumerate(line.split(" ")):
            yield (" " if n else "") + word


class Model(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.reply(200, {})

    def do_GET(self):
        self.note("GET", None)
        if self.path.split("?")[0].endswith("/models"):
            models = [{"id": name, "object": "model", "owned_by": "stand-in"} for name in ("stand-in",)]
            self.reply(200, {"object": "list", "data": models})
        else:
            self.reply(404, {"error": {"message": "There is nothing here"}})

    def do_POST(self):
        body = self.body()
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            request = {}
        self.note("POST", request)
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            return self.reply(200, {"input_tokens": 1000, "totalTokens": 1000})
        for end, api in (
            ("/messages", Anthropic),
            ("/chat/completions", Chat),
            ("/responses", Responses),
            (":streamGenerateContent", Gemini),
            (":generateContent", Gemini),
        ):
            if path.endswith(end):
                return self.answer(api(self, request, path))
        self.reply(404, {"error": {"message": "There is nothing here"}})

    def body(self):
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def note(self, method, request):
        if self.server.log:
            with open(self.server.log, "a") as log:
                log.write(json.dumps({"method": method, "path": self.path, "body": request}) + "\n")

    def answer(self, api):
        scenario = self.server.scenario
        if scenario in ("refuse-quota", "context"):
            status, body, headers = api.refusal(scenario)
            return self.reply(status, body, headers)
        aside = is_aside(api.request)
        if scenario == "hang" and not aside:
            self.events()
            api.start()
            self.wfile.flush()
            while True:
                time.sleep(3600)
        called = None if api.has_result() else call(scenario, api.request, self.server.cwd)
        if called:
            text = "I will look after it."
        elif scenario in AIDER:
            text = AIDER[scenario]
        elif scenario == "text" and not aside and not api.has_result():
            text = "\n".join(LINES)
        else:
            text = SENTENCE
        delay = self.server.delay if scenario == "text" and not aside else 0.01
        if not api.streams:
            return self.reply(200, api.whole(text, called))
        self.events()
        api.start()
        for word in words(text):
            api.word(word)
            time.sleep(delay)
        api.end(text, called)

    def reply(self, status, body, headers=()):
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
        self.close_connection = True

    def events(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, data, kind=None):
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(((f"event: {kind}\n" if kind else "") + f"data: {text}\n\n").encode())
        self.wfile.flush()


class Api:
    def __init__(self, to, request, path):
        self.to, self.request, self.path = to, request, path
        self.streams = bool(request.get("stream"))
        self.model = request.get("model") or "stand-in"


class Anthropic(Api):
    USAGE = {"input_tokens": 1000, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}

    def has_result(self):
        contents = [message.get("content") for message in self.request.get("messages", [])]
        return any(part.get("type") == "tool_result" for content in contents if isinstance(content, list) for part in content)

    def message(self, content, reason):
        return {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": self.USAGE,
        }

    def start(self):
        self.to.event({"type": "message_start", "message": self.message([], None)}, "message_start")
        self.begin(0, {"type": "text", "text": ""})

    def begin(self, index, block):
        self.to.event({"type": "content_block_start", "index": index, "content_block": block}, "content_block_start")

    def delta(self, index, delta):
        self.to.event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")

    def stop(self, index):
        self.to.event({"type": "content_block_stop", "index": index}, "content_block_stop")

    def word(self, word):
        self.delta(0, {"type": "text_delta", "text": word})

    def end(self, text, called):
        self.stop(0)
        if called:
            self.begin(1, {"type": "tool_use", "id": "toolu_01", "name": called[0], "input": {}})
            self.delta(1, {"type": "input_json_delta", "partial_json": json.dumps(called[1])})
            self.stop(1)
        reason = "tool_use" if called else "end_turn"
        delta = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 300}}
        self.to.event(delta, "message_delta")
        self.to.event({"type": "message_stop"}, "message_stop")

    def whole(self, text, called):
        content = [{"type": "text", "text": text}]
        if called:
            content.append({"type": "tool_use", "id": "toolu_01", "name": called[0], "input": called[1]})
        return self.message(content, "tool_use" if called else "end_turn")

    def refusal(self, scenario):
        if scenario == "context":
            error = {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"}
            return 400, {"type": "error", "error": error}, {}
        error = {"type": "rate_limit_error", "message": "This request would exceed your account's rate limit. Please try again later."}
        reset = str(int(time.time()) + 3 * 3600)
        headers = {
            "retry-after": "10800",
            "x-should-retry": "false",
            "anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-reset": reset,
            "anthropic-ratelimit-unified-representative-claim": "five_hour",
            "anthropic-ratelimit-unified-5h-status": "rejected",
            "anthropic-ratelimit-unified-5h-reset": reset,
            "anthropic-ratelimit-unified-5h-utilization": "1.0",
        }
        return 429, {"type": "error", "error": error}, headers


class OpenAi(Api):
    def refusal(self, scenario):
        if scenario == "context":
            message = "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. "
            message += "Please reduce the length of the messages."
            error = {"message": message, "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}
            return 400, {"error": error}, {}
        message = "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
        message += "read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
        error = {"message": message, "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}
        return 429, {"error": error}, {"x-should-retry": "false"}


class Chat(OpenAi):
    def has_result(self):
        return any(message.get("role") == "tool" for message in self.request.get("messages", []))

    def chunk(self, delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": int(time.time()), "model": self.model}
        self.to.event(head | {"choices": [choice]})

    def start(self):
        self.chunk({"role": "assistant", "content": ""})

    def word(self, word):
        self.chunk({"content": word})

    def calls(self, called):
        function = {"name": called[0], "arguments": json.dumps(called[1])}
        return [{"index": 0, "id": "call_01", "type": "function", "function": function}]

    def end(self, text, called):
        if called:
            self.chunk({"tool_calls": self.calls(called)})
        self.chunk({}, "tool_calls" if called else "stop")
        usage = {"prompt_tokens": 1000, "completion_tokens": 300, "total_tokens": 1300}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": int(time.time()), "model": self.model}
        self.to.event(head | {"choices": [], "usage": usage})
        self.to.event("[DONE]")

    def whole(self, text, called):
        message = {"role": "assistant", "content": text}
        if called:
            message["tool_calls"] = self.calls(called)
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if called else "stop"}
        usage = {"prompt_tokens": 1000, "completion_tokens": 300, "total_tokens": 1300}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": int(time.time()), "model": self.model}
        return head | {"choices": [choice], "usage": usage}


class Responses(OpenAi):
    def has_result(self):
        given = self.request.get("input")
        return isinstance(given, list) and any(str(item.get("type", "")).endswith("_output") for item in given)

    def send(self, kind, **data):
        self.to.event({"type": kind, **data}, kind)

    def response(self, status, output):
        usage = {"input_tokens": 1000, "output_tokens": 300, "total_tokens": 1300}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        head = {"id": "resp_01", "object": "response", "created_at": int(time.time()), "model": self.model}
        return head | {"status": status, "output": output, "usage": usage if status == "completed" else None}

    def start(self):
        self.send("response.created", response=self.response("in_progress", []))
        item = {"type": "message", "id": "msg_01", "role": "assistant", "status": "in_progress", "content": []}
        if self.to.server.scenario != "hang":
            self.send("response.output_item.added", output_index=0, item=item)

    def word(self, word):
        self.send("response.output_text.delta", item_id="msg_01", output_index=0, content_index=0, delta=word)

    def items(self, text, called):
        content = [{"type": "output_text", "text": text, "annotations": []}]
        items = [{"type": "message", "id": "msg_01", "role": "assistant", "status": "completed", "content": content}]
        if called and isinstance(called[1], str):
            items.append({"type": "custom_tool_call", "id": "ctc_01", "call_id": "call_01", "name": called[0], "input": called[1]})
        elif called:
            arguments = json.dumps(called[1])
            items.append({"type": "function_call", "id": "fc_01", "call_id": "call_01", "name": called[0], "arguments": arguments})
        return items

    def end(self, text, called):
        items = self.items(text, called)
        for index, item in enumerate(items):
            self.send("response.output_item.done", output_index=index, item=item)
        self.send("response.completed", response=self.response("completed", items))

    def whole(self, text, called):
        return self.response("completed", self.items(text, called))


class Gemini(Api):
    def __init__(self, to, request, path):
        super().__init__(to, request, path)
        self.streams = path.endswith(":streamGenerateContent")

    def has_result(self):
        contents = self.request.get("contents") or []
        return any("functionResponse" in part for content in contents for part in content.get("parts") or [])

    def candidate(self, parts, reason=None):
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason:
            candidate["finishReason"] = reason
        usage = {"promptTokenCount": 1000, "candidatesTokenCount": 300, "totalTokenCount": 1300}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stand-in"}

    def start(self):
        pass

    def word(self, word):
        self.to.event(self.candidate([{"text": word}]))

    def parts(self, called):
        return [{"functionCall": {"id": "call_01", "name": called[0], "args": called[1]}}] if called else []

    def end(self, text, called):
        self.to.event(self.candidate(self.parts(called) or [{"text": ""}], "STOP"))

    def whole(self, text, called):
        if (self.request.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            schema = self.request["generationConfig"]
            text = json.dumps(filled(schema.get("responseJsonSchema") or schema.get("responseSchema") or {}, {}))
        return self.candidate([{"text": text}] + self.parts(called), "STOP")

    def refusal(self, scenario):
        if scenario == "context":
            message = "The input token count (1348576) exceeds the maximum number of tokens allowed (1048576)."
            return 400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}, {}
        message = "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
        message += "head to: https://ai.google.dev/gemini-api/docs/rate-limits."
        metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
        violation = {"quotaMetric": metric, "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "50"}
        details = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}]
        return 429, {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}}, {}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # An agent that is ended in the middle of an answer is no error.


def serve(scenario, cwd=".", delay=0.08, log=None):
    server = Server(("127.0.0.1", 0), Model)
    server.scenario, server.cwd, server.delay, server.log = scenario, cwd, delay, log
    return server


if __name__ == "__main__":
    scenarios = ["tool", "edit", "question", "aider", "aider-edit", "text", "short", "hang", "refuse-quota", "context"]
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("scenario", choices=scenarios)
    arguments.add_argument("--cwd", default=".", help="where the agent works: files are written there")
    arguments.add_argument("--delay", type=float, default=0.08, help="seconds between two words")
    arguments.add_argument("--log", help="a file to which each request is appended")
    given = arguments.parse_args()
    server = serve(given.scenario, given.cwd, given.delay, given.log)
    print(server.server_port, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(130)
