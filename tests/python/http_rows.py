"""Rows of bad HTTP for a gateway, over plain sockets. Each has the bytes, and the answer that they must get. None may
hang, or run a text."""
import json
import socket
import time

MODEL = 'suf'


def body(**fields):
    return json.dumps({'model': MODEL, 'input': 'the', **fields}).encode()


def request(token, data=b'', method='POST', path='/v1/embeddings', host='localhost', extra=(), length=True):
    lines = [f'{method} {path} HTTP/1.1', f'Host: {host}']
    lines += [f'Authorization: Bearer {token}'] * (token is not None)
    lines += [f'Content-Length: {len(data)}'] * bool(length and (data or method == 'POST'))
    return '\r\n'.join([*lines, *extra, '', '']).encode() + data


def connect(address):
    s = socket.create_connection(address, timeout=30)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def answer(s):
    """Returns (status, headers, body) of one answer; (0, {}, b'') if the gateway hung up without one."""
    data = b''
    while b'\r\n\r\n' not in data:
        part = s.recv(65536)
        if not part:
            return 0, {}, data
        data += part
    head, _, rest = data.partition(b'\r\n\r\n')
    first, *lines = head.decode().split('\r\n')
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(':') for line in lines)}
    while len(rest) < int(headers.get('content-length', 0)):
        rest += s.recv(65536)
    return int(first.split()[1]), headers, rest


def ask(address, raw):
    with connect(address) as s:
        s.sendall(raw)
        return answer(s)


def rows(token):
    """Returns [(what, bytes, statuses, code in the answer, or None)]."""
    ok = body()
    post = lambda data, *more, **options: request(token, data, extra=more, **options)  # noqa: E731
    many = lambda n: body(input=['the'] * n)  # noqa: E731
    return [
        ('no token', request(None, ok), 401, 'invalid_api_key'),
        ('a wrong token', request('x' * 43, ok), 401, 'invalid_api_key'),
        ('a token of another kind', request(None, ok, extra=[f'Authorization: Basic {token}']), 401, 'invalid_api_key'),
        ('two tokens', post(ok, f'Authorization: Bearer {token}'), 400, 'invalid_header'),
        ('a foreign Host', post(ok, host='evil.example'), 403, 'host'),
        ('a Host with a port that is none', post(ok, host='localhost:abc'), 403, 'host'),
        ('a Host with a name behind', post(ok, host='127.0.0.1:80@evil'), 403, 'host'),
        ('a Host that ends like ours', post(ok, host='localhost.evil.example'), 403, 'host'),
        ('an Origin', post(ok, 'Origin: http://localhost'), 403, 'origin'),
        ('an unknown route', post(ok, path='/v1/completions'), 404, 'unknown_url'),
        ('a route with a slash behind', post(ok, path='/v1/embeddings/'), 404, 'unknown_url'),
        ('an unknown method', request(token, method='BREW'), 405, 'method_not_allowed'),
        ('GET of embeddings', request(token, method='GET'), 405, 'method_not_allowed'),
        ('a body that is too large', request(token, b'', extra=['Content-Length: 99999999'], length=False), 413, 'body_too_large'),
        ('no JSON', post(b'the dog'), 400, 'invalid_json'),
        ('an empty body', post(b''), 400, 'invalid_json'),
        ('a list', post(b'[]'), 400, 'invalid_json'),
        ('null', post(b'null'), 400, 'invalid_json'),
        ('a number of 5,000 digits', post(b'{"model":"suf","input":"the","dimensions":' + b'9' * 5000 + b'}'), 400, 'invalid_dimensions'),
        ('a deep body', post(b'[' * 200_000), 400, 'invalid_json'),
        ('a field twice', post(b'{"model":"suf","input":"the","input":"dog"}'), 400, 'invalid_json'),
        ('NaN', post(b'{"model":"suf","input":"the","dimensions":NaN}'), 400, 'invalid_json'),
        ('invalid UTF-8', post(b'{"model":"suf","input":"\xff"}'), 400, 'invalid_json'),
        ('a lone surrogate', post(b'{"model":"suf","input":"\\ud800"}'), 400, 'invalid_input'),
        ('input of another type', post(body(input=5)), 400, 'invalid_input'),
        ('no input', post(b'{"model":"suf"}'), 400, 'invalid_input'),
        ('an empty list', post(body(input=[])), 400, 'invalid_input'),
        ('an empty text', post(body(input='')), 400, 'invalid_input'),
        ('an empty text among others', post(body(input=['the', ''])), 400, 'invalid_input'),
        ('a list in a list', post(body(input=[['the']])), 400, 'token_input'),
        ('token ids', post(body(input=[1, 2, 3])), 400, 'token_input'),
        ('2,049 texts', post(many(2049)), 400, 'too_many_texts'),
        ('a text over the limit', post(body(input='the ' * 500)), 400, 'text_too_long'),
        ('an unknown model', post(body(model='gpt')), 404, 'model_not_found'),
        ('no model', post(b'{"input":"the"}'), 404, 'model_not_found'),
        ('an unknown format', post(body(encoding_format='int8')), 400, 'invalid_format'),
        ('other dimensions', post(body(dimensions=3)), 400, 'invalid_dimensions'),
        ('an unknown field', post(body(stream=True)), 400, 'unknown_field'),
        ('a compressed body', post(ok, 'Content-Encoding: gzip'), 415, 'unsupported_encoding'),
        ('Content-Length and Transfer-Encoding', post(ok, 'Transfer-Encoding: chunked'), (400, 0), None),
        ('two lengths', post(ok, 'Content-Length: 3'), (400, 0), None),
        ('a length that is none', request(token, ok, extra=['Content-Length: -5'], length=False), (400, 0), None),
        ('headers that are too large', post(ok, 'X-Much: ' + 'x' * 70_000), (400, 431, 0), None),
        ('no HTTP', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' * 20, (400, 0), None),
        ('another version', f'POST /v1/embeddings HTTP/9.9\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n'.encode(), (400, 0), None),
    ]


def check_rows(address, token):
    """Runs the rows; returns their faults."""
    faults = []
    for what, raw, statuses, code in rows(token):
        begun = time.monotonic()
        try:
            status, headers, data = ask(address, raw)
        except OSError as x:
            status, headers, data = 0, {}, str(x).encode()
        if status not in (statuses if isinstance(statuses, tuple) else (statuses,)):
            faults.append(f'{what}: status {status}, {data[:200]}')
            continue
        if code:
            error = json.loads(data)['error']
            if error['code'] != code or set(error) != {'message', 'type', 'param', 'code'} or '; ' not in error['message'] or len(error['message']) > 400:
                faults.append(f'{what}: {error}')
            if headers.get('x-should-retry') != 'false':
                faults.append(f'{what}: a client would send it again')
        if time.monotonic() - begun > 20:
            faults.append(f'{what}: {time.monotonic() - begun:.1f} s')
    return faults
