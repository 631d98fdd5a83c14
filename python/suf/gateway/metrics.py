"""Metrics for Prometheus."""
import prometheus_client as prom


class Metrics:
    def __init__(self, texts):
        self.registry = prom.CollectorRegistry()
        kind = {'registry': self.registry}
        self.requests = prom.Counter('suf_gateway_requests', 'Requests, by route and status.', ['route', 'status'], **kind)
        self.seconds = prom.Histogram('suf_gateway_request_seconds', 'Time of answered requests for embeddings.', **kind,
                                      buckets=(.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800))
        self.all = prom.Counter('suf_gateway_texts', 'Texts in answers, and those of them that did not run for this request.', ['source'], **kind)
        self.tokens = prom.Counter('suf_gateway_tokens', 'Tokens of the texts in answers.', **kind)
        prom.Gauge('suf_gateway_waiting_texts', 'Texts that wait or run.', **kind).set_function(lambda: len(texts().jobs))
        prom.Gauge('suf_gateway_kept_bytes', 'Bytes of kept results.', **kind).set_function(lambda: texts().size)

    def texts(self, count, reused):
        self.all.labels('run').inc(count - reused)
        self.all.labels('reused').inc(reused)

    def page(self):
        return prom.generate_latest(self.registry)
