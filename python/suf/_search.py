"""Searcher: the nearest documents of an index that this process never sees."""
import dataclasses

from suf._core import PromptedOwner, flag, path


@dataclasses.dataclass(frozen=True)
class Hit:
    """A document that a search found."""

    row: int  # its number in the index
    rank: int | None = None  # 0 is the nearest; None unless the index reveals the order
    score: float | None = None  # cosine to the text; None unless the index reveals scores
    document: str | None = None  # its text; None without fetch


class SearcherMethods(PromptedOwner):
    """The common part of Searcher and AsyncSearcher: everything but the running."""

    ENDING: str | None = 'embedding'

    def __init__(self, connect, dealer, certs, store, *, index_plan=None, fetch=False, **options):
        """As Encoder, with two more arguments. Nothing is sent before the first text, unless a file is pulled.

        * index_plan: index.json of the index. Without it, the only one that was pulled from the model owner.
        * fetch: True also gets the documents of the hits. The model owner sees that k documents are fetched each time,
          and not which.

        Raises the errors of Encoder. If several index plans were pulled, the InputError names their files."""
        super().__init__(connect, dealer, certs, store, index_plan=index_plan, fetch=fetch, **options)

    def _settings(self, *args, index_plan, fetch, **options):
        return {**super()._settings(*args, **options), 'search': True, 'index_plan': path('index_plan', index_plan), 'fetch': flag('fetch', fetch)}

    @property
    def index(self):
        """The hash of the index plan."""
        return self._about['index']

    @property
    def k(self):
        """The most hits of a search."""
        return self._about['k']

    def _prepare(self, texts, prompt_name, prompt, truncate):
        """Checks the arguments of search before anything is sent. Returns (ids, whether one text was given)."""
        cut = flag('truncate', truncate)
        return self._texts(texts, prompt_name, prompt, self._limit() if cut else self._about['max_tokens'], cut)

    def _hits(self, results, one):
        hits = [h for h, _ in results]
        return hits[0] if one else hits


class Searcher(SearcherMethods):
    """Finds the documents nearest to a text in an index of the model owner. The model owner sees neither the text nor the
    hits, and this process neither its embedding nor the index."""

    def search(self, texts, prompt_name=None, prompt=None, truncate=False, show_progress_bar=False):
        """Returns the hits of texts, a list of Hit for each; of one str, its list. The nearest document is first if the
        index reveals the order or scores.

        * prompt_name, prompt: a prompt of the plan, or a text. It stands before each text. The default is the prompt
          that the index names for texts, which may be none.
        * truncate: True cuts texts that are too long; otherwise they raise InputError.

        Raises the errors of suf. If some texts failed, the error has `results` and `failed`."""
        ids, one = self._prepare(texts, prompt_name, prompt, truncate)
        return self._hits(self._run(ids, progress=flag('show_progress_bar', show_progress_bar)), one)
