#!/usr/bin/env python3
"""Checks the ids of 102,400 generated texts by each published tokenizer. They are those of Hugging Face `tokenizers`, in
tests/data/published_tokenizers.json by tools/tokenizer_kinds.py --published.

  published_tokenizers_test.py SUF [COUNT]      SUF: build/suf; COUNT: texts of each tokenizer, a multiple of 4,096.
                                                Fetches the models that are not in the cache
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tools'))
from tokenizer_texts import BLOCK, TEXTS, hashed, text

EXPECTED = json.loads((ROOT / 'tests/data/published_tokenizers.json').read_text())


def blocks(suf, folder, texts):
    """Yields the digest of each block of texts, as tokenizer_kinds.py describes it."""
    run = subprocess.Popen([suf, 'tokenize', '--model', folder, '--json-file', texts, '--json'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    digest = hashlib.sha256()
    for i, line in enumerate(run.stdout):
        row = json.loads(line)
        assert row['i'] == i and ('ids' in row or ' has no token' in row['error']), row
        ids = row.get('ids', [])
        digest.update(hashed(ids))
        if i % BLOCK == BLOCK - 1:
            yield digest.hexdigest()
            digest = hashlib.sha256()


def main():
    suf, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else TEXTS
    parts = json.loads((ROOT / 'suf/model/testdata/kinds/parts.json').read_text())
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl', encoding='utf8') as texts:
        for i in range(count):
            texts.write(json.dumps({'text': text(i, parts)}) + '\n')
        texts.flush()
        for name, expected in EXPECTED.items():
            subprocess.check_call([sys.executable, ROOT / 'tools/fetch_model.py', name], stdout=subprocess.DEVNULL)
            folder = subprocess.check_output([suf, 'model', 'path', name], text=True).strip()
            found = list(blocks(suf, folder, texts.name))
            wrong = [i for i, (a, b) in enumerate(zip(found, expected)) if a != b]
            assert len(found) == count // BLOCK and not wrong, f'{name}: other ids in blocks {wrong} of {len(found)}'
            print(f'ok    {name}: the ids of {count} texts')


if __name__ == '__main__':
    main()
