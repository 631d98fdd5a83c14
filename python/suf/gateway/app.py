"""The routes. JSON in and out is OpenAI's."""
import asyncio
import base64
import collections
import hmac
import json
import math
import re
import sys
import time

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from suf._core import to_bytes
from suf._errors import Bug, Error, InputError, PeerError, RefusedError
from suf.gateway.texts import QueueFull

MOST_TEXTS = 2048
MOST_BODY = 8 << 20  # bytes
MOST_HEADERS = 16 << 10  # bytes
FIELDS = {'input', 'model', 'encoding_format', 'dimensions', 'user'}
WAIT = 5  # seconds after which a client may try again, if no time is known
PROBE = 30  # seconds between two checks of the other roles
SAID = 60  # seconds between two lines about failures of one kind
ONE_MODEL = '/v1/models/'
HOST = re.compile(r'(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?')
JSON_KINDS = {dict: 'an object', list: 'a list', str: 'a string', int: 'a number', float: 'a number', bool: 'a boolean', type(None): 'null'}


def say(text):
    print(f'suf: gateway: {text}', file=sys.stderr, flush=True)


class Refusal(Exception):
    """An answer other than 200, in OpenAI's form. `retry` is None if a retry cannot help, else seconds."""

    def __init__(self, status, message, kind='invalid_request_error', param=None, code=None, retry=None, headers=()):
        self.status, self.message, self.kind, self.param, self.code, self.retry, self.headers = status, message, kind, param, code, retry, headers

    def response(self):
        headers = dict(self.headers)
        if self.retry is None:
            headers['x-should-retry'] = 'false'
        else:
            headers['Retry-After'] = str(max(1, math.ceil(self.retry)))
        return JSONResponse({'error': {'message': self.message, 'type': self.kind, 'param': self.param, 'code': self.code}}, self.status, headers)


BUG = Refusal(500, 'an internal mistake of the gateway; report it', 'server_error', code='bug')


def refusal_of(error, wait):
    """Returns the answer for an error of suf. `wait` is the last known wait for a turn, in seconds."""
    if isinstance(error, InputError):
        return Refusal(400, str(error), param='input', code='invalid_input')
    if isinstance(error, RefusedError) and error.refusal == 'quota':
        return Refusal(429, str(error), 'rate_limit_error', code='quota', headers={'Retry-After': str(error.retry_after or 86_400)}.items())
    if isinstance(error, PeerError):
        return Refusal(503, str(error), 'server_error', code='unreachable', retry=wait or WAIT)
    if isinstance(error, RefusedError):
        return Refusal(502, str(error), 'server_error', code=error.refusal or 'refused')
    return Refusal(500, str(error), 'server_error', code='bug' if isinstance(error, Bug) else 'resource')


def strict_json(body):
    """Parses a JSON object without names twice and without NaN."""
    def once(pairs):
        names = [n for n, _ in pairs]
        if len(set(names)) < len(names):
            twice = next(n for n, count in collections.Counter(names).items() if count > 1)
            raise ValueError(f'the name {twice[:60]!r} appears twice')
        return dict(pairs)

    def no_number(name):
        raise ValueError(f'{name} is no JSON number')
    try:
        value = json.loads(body.decode(), object_pairs_hook=once, parse_constant=no_number, parse_int=lambda text: int(text) if len(text) < 20 else float(text))
    except UnicodeDecodeError as x:
        raise Refusal(400, f'byte {x.start} of the body is not UTF-8; send JSON in UTF-8', code='invalid_json') from None
    except RecursionError:
        raise Refusal(400, 'the body nests too deep; send an object with the fields of /v1/embeddings', code='invalid_json') from None
    except ValueError as x:
        raise Refusal(400, f'the body is not JSON: {x}; send an object', code='invalid_json') from None
    if not isinstance(value, dict):
        raise Refusal(400, f'the body is {JSON_KINDS[type(value)]}; send an object', code='invalid_json')
    return value


class Gateway:
    """The routes of one encoder."""

    def __init__(self, encoder, texts, metrics, name, token, hosts):
        self.encoder, self.texts, self.metrics, self.name, self.token, self.hosts = encoder, texts, metrics, name, token, hosts
        self.probed, self.ready_error, self.probing = -math.inf, None, asyncio.Lock()
        self.models = {name: None}
        if 'query' in encoder.prompts:
            self.models[name + ':query'] = 'query'
        if document := encoder._named('document', 'passage', 'corpus'):
            self.models[name + ':document'] = document
        self.starlette = Starlette(routes=[
            Route('/v1/embeddings', self.embeddings, methods=['POST']),
            Route('/v1/models', self.list_models, methods=['GET']),
            Route(ONE_MODEL + '{model:path}', self.one_model, methods=['GET']),
            Route('/health', self.health, methods=['GET']),
            Route('/ready', self.ready, methods=['GET']),
            Route('/metrics', self.metrics_page, methods=['GET']),
        ], exception_handlers={Refusal: lambda request, x: self.refused(x), Exception: lambda request, x: self.refused(BUG)})
        self.starlette.router.redirect_slashes = False
        self.routes = {r.path: r.methods for r in self.starlette.routes}
        self.said = {}  # time of the last line about each kind of failure

    def route_of(self, path):
        """Returns the path of a route as it is defined."""
        return ONE_MODEL + '{model:path}' if path.startswith(ONE_MODEL) else path

    def report(self, refusal):
        """Says once in a while why clients fail, for the operator."""
        now = time.monotonic()
        if refusal.status < 500 and refusal.code != 'quota' or now - self.said.get(refusal.code, -math.inf) < SAID:
            return
        self.said[refusal.code] = now
        say(f'a client got {refusal.status} {refusal.code}: {refusal.message}')

    def refused(self, refusal):
        self.report(refusal)
        return refusal.response()

    # --- before every route ---

    async def __call__(self, scope, receive, send):
        if scope['type'] != 'http':
            return
        status, begun = 500, False

        async def counted(message):
            nonlocal status
            nonlocal begun
            if message['type'] == 'http.response.start':
                status, begun = message['status'], True
            await send(message)
        try:
            self.admit(scope)
            await self.starlette(scope, receive, counted)
        except Refusal as x:
            await self.refused(x)(scope, receive, counted)
        except ClientDisconnect:
            status = 499
        except asyncio.CancelledError:  # the time for running texts after SIGTERM is over
            if not self.texts.closed or begun:
                raise
            asyncio.current_task().uncancel()
            await self.stopping().response()(scope, receive, counted)
        finally:
            route = self.route_of(scope['path'])
            route = route if route in self.routes else 'unknown'
            self.metrics.requests.labels(route, str(status)).inc()

    def admit(self, scope):
        """Refuses a request before its body is read."""
        fields = [(k.lower(), v) for k, v in scope['headers']]

        def only(name):
            values = [v for k, v in fields if k == name]
            if len(values) > 1:
                raise Refusal(400, f'the header {name.decode()} is there {len(values)} times; send it once', code='invalid_header')
            return values[0].decode('latin-1') if values else None
        if sum(len(k) + len(v) for k, v in fields) > MOST_HEADERS:
            raise Refusal(431, f'the headers have more than {MOST_HEADERS} bytes, which is the limit; send fewer', code='headers_too_large')
        if only(b'transfer-encoding') is not None and only(b'content-length') is not None:
            raise Refusal(400, 'the request has both Content-Length and Transfer-Encoding; send one of them', code='invalid_header',
                          headers={'Connection': 'close'}.items())
        host = HOST.fullmatch((only(b'host') or '').lower())
        if not host or host[1].strip('[]') not in self.hosts:
            raise Refusal(403, 'this gateway is not called by that Host; use its address, or let it start with --host NAME', 'permission_error',
                          code='host')
        if only(b'origin') is not None:
            raise Refusal(403, 'web pages cannot use this gateway: the request has an Origin; call it from a program', 'permission_error', code='origin')
        if scope['path'] != '/health':
            given = only(b'authorization')
            kind, _, token = (given or '').partition(' ')
            if kind.lower() != 'bearer' or not hmac.compare_digest(token.strip().encode('latin-1'), self.token.encode()):
                what = 'this request has no bearer token' if given is None else 'the bearer token is wrong'
                raise Refusal(401, f"{what}; send Authorization: Bearer TOKEN with the token of the gateway's file", 'authentication_error',
                              code='invalid_api_key', headers={'WWW-Authenticate': 'Bearer'}.items())
        route = self.route_of(scope['path'])
        if route not in self.routes:
            raise Refusal(404, f'there is no route {scope["path"][:100]!r}; use {", ".join(self.routes)}', code='unknown_url')
        if scope['method'] not in self.routes[route]:
            allowed = sorted(self.routes[route])
            raise Refusal(405, f'{scope["path"]} takes no {scope["method"][:20]!r}; use {" or ".join(allowed)}', code='method_not_allowed',
                          headers={'Allow': ', '.join(allowed)}.items())
        if (encoding := only(b'content-encoding')) not in (None, 'identity'):
            raise Refusal(415, f'the body is encoded as {encoding[:40]!r}; send it as it is', code='unsupported_encoding')

    async def body(self, request):
        """Reads the body, within its limit."""
        length = request.headers.get('content-length')
        if length is not None and length.isdigit() and int(length) > MOST_BODY:
            raise Refusal(413, f'the body has {length} bytes, the limit is {MOST_BODY}; send fewer texts', code='body_too_large', headers={'Connection': 'close'}.items())
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > MOST_BODY:
                raise Refusal(413, f'the body has more than {MOST_BODY} bytes, which is the limit; send fewer texts', code='body_too_large',
                              headers={'Connection': 'close'}.items())
            parts.append(part)
        return b''.join(parts)

    # --- routes ---

    def parse(self, fields):
        """Returns (texts, prompt, whether base64) of a request."""
        fields = {name: value for name, value in fields.items() if value is not None or name in ('input', 'model')}
        for name in fields:
            if name not in FIELDS:
                raise Refusal(400, f'the field {name[:60]!r} is not provided; use {", ".join(sorted(FIELDS))}', param=name[:60], code='unknown_field')
        model = fields.get('model')
        if model not in self.models:
            shown = repr(model)[:100]
            raise Refusal(404, f'there is no model {shown}; use {" or ".join(self.models)}', param='model', code='model_not_found')
        given = fields.get('input')
        if isinstance(given, list) and given and isinstance(given[0], (int, list)):
            raise Refusal(400, 'the input holds token ids; send text: check_embedding_ctx_length=False', param='input', code='token_input')
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
            raise Refusal(400, f'the input must be a string or a list of 1 to {MOST_TEXTS} strings; send one of these', param='input', code='invalid_input')
        if len(texts) > MOST_TEXTS:
            raise Refusal(400, f'the input has {len(texts)} texts, the limit is {MOST_TEXTS}; send several requests', param='input', code='too_many_texts')
        form = fields.get('encoding_format', 'float')
        if form not in ('float', 'base64'):
            raise Refusal(400, f'encoding_format={str(form)[:40]!r} is not provided; use float or base64', param='encoding_format', code='invalid_format')
        d, wanted = self.encoder.get_sentence_embedding_dimension(), fields.get('dimensions')
        if wanted is not None and (isinstance(wanted, bool) or wanted != d):
            raise Refusal(400, f'dimensions={str(wanted)[:40]!r} is not possible; the model has the number {d}, leave the field out', param='dimensions', code='invalid_dimensions')
        if not isinstance(fields.get('user', ''), str):
            raise Refusal(400, 'the field user must be a string; it is dropped in any case', param='user', code='invalid_user')
        name = self.models[model]
        return texts, self.encoder._prompt(name, None), form == 'base64'

    def tokenized(self, texts, prompt, at, count):
        """Returns [(UTF-8, ids)] of texts from number `at` on, of `count` in all. Texts that are too long are refused,
        because an embedding of a cut text is another one."""
        rows, most = [], self.encoder.max_seq_length
        for i, text in enumerate(texts, at):
            where = f'text {i + 1} of {count}' if count > 1 else 'the text'
            try:
                data = to_bytes(text, where)
                ids, = self.encoder._ids([(data, None)], prompt, most + 1)
            except InputError as x:
                message = str(x) if str(x).startswith(where) else f'{where}: {x}'
                raise Refusal(400, message, param='input', code='invalid_input') from None
            if len(ids) > most:
                raise Refusal(400, f'{where} has more than {most} tokens, which is the limit of the model; send shorter texts', param='input', code='text_too_long')
            rows.append((data, ids))
        return rows

    async def embeddings(self, request: Request):
        begun = time.monotonic()
        if self.texts.closed:
            raise self.stopping()
        body = await self.body(request)
        texts, prompt, as_base64 = self.parse(await asyncio.to_thread(strict_json, body))
        rows = []
        for at in range(0, len(texts), 64):  # in a thread, so that others go on
            rows += await asyncio.to_thread(self.tokenized, texts[at:at + 64], prompt, at, len(texts))
        if len({row for row, _ in rows}) > self.texts.most:
            raise Refusal(400, f'the input has {len(rows)} texts, and the queue of this gateway takes {self.texts.most}; send fewer', param='input',
                          code='too_many_texts')
        results = await self.while_connected(request, self.run(rows, prompt))
        failed = [i for i, r in enumerate(results) if r.error]
        if failed:
            where = f'text {failed[0] + 1} of {len(rows)}: ' if len(rows) > 1 else ''
            raise Refusal(400, f'{where}{results[failed[0]].error}', param='input', code='text_failed')
        data = []
        for i, r in enumerate(results):
            if i % 64 == 63:
                await asyncio.sleep(0)
            values = base64.b64encode(r.values.astype('<f4').tobytes()).decode() if as_base64 else [float(v) for v in r.values]
            data.append({'object': 'embedding', 'index': i, 'embedding': values})
        tokens = sum(r.tokens for r in results)
        self.metrics.tokens.inc(tokens)
        self.metrics.seconds.observe(time.monotonic() - begun)
        return JSONResponse({
            'object': 'list', 'data': data, 'model': self.name, 'usage': {'prompt_tokens': tokens, 'total_tokens': tokens},
            'suf': {'plan': self.encoder.plan, 'weights': self.encoder._weights(), 'serials': [r.serial for r in results],
                    'bytes': sum(r.bytes for r in results)}})

    async def run(self, rows, prompt):
        """Runs the texts of a request. The fewer texts it has, the earlier they run."""
        priority = 10 if len(rows) == 1 else 5 if len(rows) <= 16 else 2 if len(rows) <= 128 else 0
        try:
            return await self.texts.run(rows, prompt, priority)
        except QueueFull:
            raise Refusal(429, f'{len(self.texts.jobs)} texts wait, and the queue takes {self.texts.most}; try again later', 'rate_limit_error',
                          code='queue_full', retry=self.texts.wait_s() or self.wait_s() or WAIT) from None
        except Error as x:
            if isinstance(x, PeerError):  # /ready says so at once
                self.probed, self.ready_error = time.monotonic(), x
            raise refusal_of(x, self.wait_s()) from None
        except asyncio.CancelledError:
            if self.texts.closed:
                raise self.stopping() from None
            raise

    def wait_s(self):
        core = self.encoder._core
        return core.wait_ms() / 1000 if core else 0

    @staticmethod
    def stopping():
        return Refusal(503, 'the gateway is stopping; try again when it runs again', 'server_error', code='stopping', retry=WAIT)

    async def while_connected(self, request, work):
        """Runs `work`, and cancels it if the client hangs up."""
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda t: t.cancelled() or t.exception())  # perhaps nobody waits any more
        gone = asyncio.ensure_future(self.until_gone(request))
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            task.cancel()
            raise ClientDisconnect
        finally:
            gone.cancel()
            if not task.done():
                task.cancel()

    @staticmethod
    async def until_gone(request):
        while (await request.receive())['type'] != 'http.disconnect':
            pass

    @staticmethod
    def model_object(name):
        return {'id': name, 'object': 'model', 'created': 0, 'owned_by': 'suf'}

    async def list_models(self, request):
        return JSONResponse({'object': 'list', 'data': [self.model_object(name) for name in self.models]})

    async def one_model(self, request):
        name = request.path_params['model']
        if name not in self.models:
            raise Refusal(404, f'there is no model {name[:100]!r}; use {" or ".join(self.models)}', param='model', code='model_not_found')
        return JSONResponse(self.model_object(name))

    async def health(self, request):
        return PlainTextResponse('ok\n')

    async def ready(self, request):
        """Reaches dealer and model owner, at most every PROBE seconds."""
        async with self.probing:
            if time.monotonic() - self.probed > PROBE:
                try:
                    await asyncio.to_thread(self.encoder._open().probe, 5.0)
                    self.ready_error = None
                except Error as x:
                    self.ready_error = x
                self.probed = time.monotonic()
        if self.texts.closed:
            raise self.stopping()
        if self.ready_error:
            raise Refusal(503, str(self.ready_error), 'server_error', code='unreachable', retry=PROBE)
        return PlainTextResponse('ready\n')

    async def metrics_page(self, request):
        return Response(self.metrics.page(), media_type='text/plain; version=0.0.4')
