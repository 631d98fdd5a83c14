#!/usr/bin/env python3
"""Runs programs of others through `suf gateway`, beside a real dealer and model owner: LangChain, LlamaIndex, Qdrant
and Prometheus. Each is used as its own pages show, with our address and token. Nothing leaves this machine.

  clients_test.py SUF PACKAGES [PATTERN]     by .clients/bin/python (tools/clients.sh); about three minutes
"""
import copy
import json
import pathlib
import sys
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(ROOT / 'tools'))
from gateway_test import Gateway, begin, settled, wanted  # noqa: E402
from package_test import CASES, case, main  # noqa: E402
import numpy as np  # noqa: E402
import openai  # noqa: E402
import reference  # noqa: E402

CASES.clear()
TIES = 2e-3  # two similarities of the float model that are closer may change places
Gateway.PYTHON = ROOT / '.venv/bin/python'  # the gateway has its own packages


def some(w):
    return [w.base.text(8, i) for i in range(5)]


@case('LangChain')
def _(w):
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_openai import OpenAIEmbeddings
    g, all = begin(w), some(w)
    e = OpenAIEmbeddings(base_url=g.url + '/v1', api_key=g.token, model='suf', check_embedding_ctx_length=False)
    expected = wanted(w, all)
    assert (np.array(e.embed_documents(all), np.float32) == expected).all()
    assert (np.array(e.embed_query(all[1]), np.float32) == expected[1]).all()
    found = InMemoryVectorStore.from_texts(all, e).similarity_search(all[3], k=1)
    assert found[0].page_content == all[3]
    assert settled(w, 5) == 5, 'results are kept'


@case('LangChain with its default, which sends token ids')
def _(w):
    import tiktoken
    from langchain_openai import OpenAIEmbeddings
    # tiktoken would download this table. Bytes serve as well, because the gateway takes no ids at all.
    tiktoken.registry.ENCODINGS['cl100k_base'] = tiktoken.Encoding(
        'cl100k_base', pat_str=r'\S+|\s+', mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={})
    g = begin(w)
    e = OpenAIEmbeddings(base_url=g.url + '/v1', api_key=g.token, model='suf')
    try:
        e.embed_query('the dog')
    except openai.BadRequestError as x:
        assert 'send text: check_embedding_ctx_length=False' in str(x), x
    else:
        raise AssertionError('token ids were taken')


@case('LlamaIndex')
def _(w):
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding
    g, all = begin(w), some(w)
    e = OpenAILikeEmbedding(model_name='suf', api_base=g.url + '/v1', api_key=g.token)
    expected = wanted(w, all)
    assert (np.array(e.get_text_embedding_batch(all), np.float32) == expected).all()
    assert (np.array(e.get_query_embedding(all[1]), np.float32) == expected[1]).all()
    index = VectorStoreIndex.from_documents([Document(text=t) for t in all], embed_model=e)
    found, = index.as_retriever(similarity_top_k=1).retrieve(all[3])
    assert found.get_content() == all[3]
    assert settled(w, 5) == 5, 'results are kept'


@case('Prometheus')
def _(w):
    from prometheus_client.parser import text_string_to_metric_families
    g = begin(w)
    assert g.ask(input=['the', 'the dog'])[0] == 200 and g.ask(input='the')[0] == 200 and g.ask(model='gpt')[0] == 404
    page = urllib.request.urlopen(urllib.request.Request(g.url + '/metrics', headers={'Authorization': f'Bearer {g.token}'})).read().decode()
    values = {(s.name, *s.labels.values()): s.value for family in text_string_to_metric_families(page) for s in family.samples}
    assert values['suf_gateway_requests_total', '/v1/embeddings', '200'] == 2 and values['suf_gateway_requests_total', '/v1/embeddings', '404'] == 1
    assert values['suf_gateway_texts_total', 'run'] == 2 and values['suf_gateway_texts_total', 'reused'] == 1
    assert values['suf_gateway_tokens_total',] == 10 and values['suf_gateway_request_seconds_count',] == 2


def real(base, folder):
    """Returns a base with the model all-MiniLM-L6-v2."""
    base = copy.copy(base)
    base.model, base.plan = pathlib.Path(base.suf('model', 'path').strip()), folder / 'real.json'
    base.suf('compile', '--model', base.model, '--calibrate', ROOT / 'tests/data/calibrate.txt', '--max-tokens', 128, '--profile', 'lan', '--out', base.plan)
    return base


@case('Qdrant: the ten nearest of each of 200 sentences')
def _(w):
    from qdrant_client import QdrantClient, models
    w.base = real(w.base, w.dir)
    g = begin(w)
    rows = [json.loads(line) for line in (ROOT / 'tests/data/sentences.jsonl').read_text().splitlines()]
    with g.client(timeout=600) as c:
        made = [d.embedding for d in c.embeddings.create(model='suf', input=[r['text'] for r in rows]).data]
    store = QdrantClient(':memory:')
    store.create_collection('all', vectors_config=models.VectorParams(size=len(made[0]), distance=models.Distance.COSINE))
    store.upsert('all', [models.PointStruct(id=i, vector=v) for i, v in enumerate(made)])
    true = reference.read_safetensors(ROOT / 'tests/data/golden.safetensors')['embedding']
    true = true @ true.T  # similarities of the float model
    for i, v in enumerate(made):
        found = [hit.id for hit in store.query_points('all', query=v, limit=10).points]
        assert found[0] == i, f"{rows[i]['id']} is not nearest to itself"
        short = np.sort(true[i])[-10:] - np.sort(true[i, found])
        assert np.abs(short).max() <= TIES, f"{rows[i]['id']}: {short}"


if __name__ == '__main__':
    main()
