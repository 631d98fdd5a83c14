"""suf: private embeddings, searches, scores and labels. The model owner never sees the texts, and the data owner never sees
the weights. docs/python.md has the guide."""
import atexit

from suf import _suf
from suf._aio import AsyncEncoder, AsyncSearcher
from suf._encoder import Encoder, LastCall
from suf._errors import Bug, Error, InputError, PeerError, RefusedError, ResourceError
from suf._heads import Classifier, CrossEncoder
from suf._search import Hit, Searcher
from suf._suf import harden, version as __version__
from suf._tools import certs, compile, estimate, pull, simulate

atexit.register(_suf.end)

__all__ = ['AsyncEncoder', 'AsyncSearcher', 'Bug', 'Classifier', 'CrossEncoder', 'Encoder', 'Error', 'Hit', 'InputError', 'LastCall',
           'PeerError', 'RefusedError', 'ResourceError', 'Searcher', 'certs', 'compile', 'estimate', 'harden', 'pull', 'simulate']
