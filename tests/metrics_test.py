#!/usr/bin/env python3
"""Reads files of metrics of each role by prometheus-client, and compares them with the table of docs/operations.md.

  metrics_test.py WRITER      WRITER: build/tests/metrics_writer; needs prometheus-client

The table names every metric with its type, labels, roles and help text, and no other. The page names no other metric
in its rules. Reasons are those of suf/net/refusal.hpp. First, faults planted in a file and in the table are found.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import metrics

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / 'docs/operations.md'
ROLES = {'P0': 'model', 'P1': 'data', 'dealer': 'dealer'}  # as the table calls them


def table(page):
    """-> {name: (type, labels, roles, help)} of the section Metrics"""
    section = re.search(r'^## Metrics\n(.*?)^## ', page, re.M | re.S)[1]
    rows = re.findall(r'^\| `(suf_\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \| (.*) \|$', section, re.M)
    return section, {name: (kind, set(re.findall(r'`(\w+)`', labels)), set(ROLES) if at == 'all' else set(at.split(', ')), text)
                     for name, kind, labels, at, text in rows}


def compare(page, files):
    """Yields the differences between the page and the files {role as in the table: {name: Family}}."""
    section, rows = table(page)
    for name in sorted({*rows, *(n for found in files.values() for n in found)}):
        families = {role: found[name] for role, found in files.items() if name in found}
        if name not in rows or not families:
            yield f'{name} is not in the ' + ('table' if families else 'files')
            continue
        labels = set().union(*(f.labels() for f in families.values()))
        have = [(f.type, labels, set(families), f.help) for f in families.values()]
        yield from (f'{name}: the page has {rows[name]}, the file {h}' for h in have if h != rows[name])
    known = {*rows, *(name + suffix for name, row in rows.items() if row[0] == 'histogram' for suffix in ('_bucket', '_count', '_sum'))}
    yield from (f'there is no metric {name}' for name in sorted(set(re.findall(r'\bsuf_\w+', section)) - known))


def check_values(files):
    """Checks the values that metrics_writer wrote."""
    p0, p1, dealer = (files[role] for role in ROLES)
    runs = p0['suf_inferences_total']
    assert [runs.value(owner='ann', outcome=o) for o in ('done', 'broken', 'refused')] == [1, 0, 0], runs
    assert runs.value(owner='bob "b" \\ \\n', outcome='broken') == 1, runs
    assert runs.value(owner='unlisted', outcome='refused') == 1 and not runs.value(owner='cid') and runs.value() == 3, runs
    assert p0['suf_tokens_total'].value(owner='ann') == 96 and p0['suf_texts_total'].value() == 4
    assert p1['suf_inferences_total'].value(outcome='done') == 1 and p1['suf_texts_total'].value() == 4
    for found in (p0, p1):
        assert found['suf_inference_seconds'].value('_count') == 1 and found['suf_inference_seconds'].value('_sum') == 0.5
        assert found['suf_inference_seconds'].value('_bucket', le='0.2') == 0 and found['suf_inference_seconds'].value('_bucket', le='0.5') == 1
        assert found['suf_peer_round_trip_seconds'].value() == 0.02
        assert found['suf_sent_bytes_total'].value() == 1e12 + 1000 and found['suf_received_bytes_total'].value() == 501
    assert dealer['suf_deal_seconds'].value('_sum') == 1.5 and dealer['suf_turn_wait_seconds'].value('_sum') == 0.75
    for role, found in files.items():
        assert found['suf_build_info'].value(version='1.2.3') == 1
        assert [found['suf_bundles_total'].value(fate=f) for f in ('dealt', 'used', 'burnt')] == [2, 1, 1]
        assert found['suf_inferences_running'].value() == found['suf_inferences_waiting'].value() == 1
        assert found['suf_refusals_total'].value(by=ROLES[role], reason='partner-gone') == 1 and found['suf_refusals_total'].value() == 2


def check_reasons(found):
    names = re.findall(r'^  k(\w+) = \d+,', (ROOT / 'suf/net/refusal.hpp').read_text(), re.M)
    want = {re.sub(r'(?<=[a-z])(?=[A-Z])', '-', name).lower() for name in names}
    have = {dict(labels)['reason'] for _, labels in found['suf_refusals_total'].samples}
    assert want and have == want, f'the reasons {have ^ want} are not in both'


def plant(folder, text, page, files):
    """Checks that a reader refuses each altered file, and that an altered page differs."""
    def refused(altered):
        file = folder / 'planted.prom'
        file.write_text(altered)
        try:
            metrics.read(file)
        except (AssertionError, ValueError):
            return True
        return False

    line = next(line for line in text.splitlines() if line.startswith('suf_texts_total'))
    count = next(line for line in text.splitlines() if line.startswith('suf_inference_seconds_count'))
    for altered in (text[:-5], text + line + '\n', text.replace(line, f'{line} 1234'), text.replace(line, line.split(' ')[0] + ' -1'),
                    text.replace(line, f'{line}\n# TYPE suf_texts_total counter'), text.replace('suf_texts_total counter', 'suf_texts_total summary'),
                    text.replace(line, line.replace('process=', 'other=')), text.replace(line, line.replace('role="model"', 'role="data"')),
                    text.replace(count, count[:-1] + '2'), re.sub('# HELP suf_texts_total.*\n', '', text), text.replace(line, line.replace('",', ',', 1)), ''):
        assert altered != text and refused(altered), altered
    assert not refused(text)
    row = next(line for line in page.splitlines() if line.startswith('| `suf_texts_total`'))
    for altered in (row.replace('counter', 'gauge'), row.replace('`owner`', ''), row.replace('P0, P1', 'all'), row.replace('Texts', 'Words'), '',
                    f'{row}\n{row.replace("texts", "words")}', f'{row}\n\n    rate(suf_textes_total[5m])'):
        assert altered != row and list(compare(page.replace(row, altered), files)), altered


def main():
    with tempfile.TemporaryDirectory() as name:
        folder, files = pathlib.Path(name), {}
        for role, said in ROLES.items():
            file = folder / f'suf-{said}.prom'
            subprocess.run([sys.argv[1], file, said], check=True)
            files[role] = metrics.read(file)
            assert f'process="suf-{said}",role="{said}"' in file.read_text()
        check_values(files)
        check_reasons(files['P0'])
        plant(folder, (folder / 'suf-model.prom').read_text(), PAGE.read_text(), files)
        wrong = list(compare(PAGE.read_text(), files))
    print(*wrong, f'metrics: {len(set().union(*files.values()))} metrics in the files, {len(wrong)} differences from the page', sep='\n')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
