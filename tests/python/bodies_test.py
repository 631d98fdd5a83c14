#!/usr/bin/env python3
"""Sends bodies that Hypothesis makes to a running gateway: arbitrary bytes, arbitrary JSON, and requests with a few
wrong fields. Each gets an answer of the documented form. No answer is an internal mistake, and only a right request runs
a text.

  bodies_test.py SUF PACKAGES [EXAMPLES]     by .clients/bin/python (tools/clients.sh); EXAMPLES (1000) of each kind
"""
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import http_rows as http  # noqa: E402
from gateway_test import Gateway, begin  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from roles import Base, World  # noqa: E402

Gateway.PYTHON = ROOT / '.venv/bin/python'  # the gateway has its own packages
EXAMPLES = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
CODES = {'invalid_json', 'invalid_input', 'unknown_field', 'model_not_found', 'token_input', 'too_many_texts', 'invalid_format',
         'invalid_dimensions', 'invalid_user', 'text_too_long', 'text_failed'}

LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20)
JSON = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4), max_leaves=12)
TEXT = st.sampled_from(['the', 'the dog', '']) | st.text(max_size=12)
FIELDS = st.fixed_dictionaries(
    {'model': st.sampled_from(['suf', 'suf:query']) | LEAF, 'input': TEXT | st.lists(TEXT, max_size=3) | JSON},
    optional={'encoding_format': st.sampled_from(['float', 'base64']) | LEAF, 'dimensions': LEAF, 'user': LEAF, 'stream': LEAF})
REQUEST = FIELDS.map(lambda f: json.dumps(f).encode('utf8', 'surrogatepass'))


@st.composite
def cut_or_changed(draw):
    """A right request with one byte changed, or cut off."""
    data = bytearray(http.body(input=['the', 'dog']))
    at = draw(st.integers(0, len(data) - 1))
    if draw(st.booleans()):
        return bytes(data[:at])
    data[at] = draw(st.integers(0, 255))
    return bytes(data)


def right(body):
    """Whether a body may get an embedding."""
    fields = json.loads(body)
    given = fields['input']
    return fields['model'] == 'suf' and (isinstance(given, str) or (1 <= len(given) <= 2048 and all(isinstance(t, str) for t in given)))


def check(g, body):
    status, headers, data = http.ask(g.address, http.request(g.token, body))
    found = json.loads(data)
    if status == 200:
        assert right(body), f'{body[:200]} has an answer'
        return
    assert status in (400, 404), f'{body[:200]} gets {status}: {data[:200]}'
    error = found['error']
    assert set(error) == {'message', 'type', 'param', 'code'} and error['code'] in CODES and headers['x-should-retry'] == 'false', error
    assert len(error['message']) <= 400, error


def main():
    with tempfile.TemporaryDirectory() as folder, World(Base(sys.argv[1], folder), 'bodies') as w:
        g = begin(w)
        for what, bodies in (('bytes', st.binary(max_size=300)), ('JSON', JSON.map(lambda v: json.dumps(v).encode())), ('requests', REQUEST),
                             ('changed requests', cut_or_changed())):
            @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
            @given(bodies)
            def run(body):
                check(g, body)
            run()
            print(f'ok   {EXAMPLES} {what}', flush=True)
        assert g.ask()[0] == 200
        assert g.role.process.poll() is None and not any('Traceback' in line for line in g.role.err), g.role.err


if __name__ == '__main__':
    main()
