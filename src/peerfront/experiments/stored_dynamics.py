"""Fitted capacity and offspring models as settings and arrays, for the store of results."""

from peerfront.experiments.store import Form
from peerfront.foundation.stored import Stored
from peerfront.models.response.learned_response import LearnedResponse
from peerfront.models.stored_models import generator_class, kind_of, restored_schema, stored_schema
from peerfront.problem import OffspringModel, ResponseModel


def _stored_capacity(response: ResponseModel) -> Stored | None:
    if type(response) is not LearnedResponse:
        return None
    return Stored.of_parts({"schema": stored_schema(response.schema)}, model=response.stored())


def _restored_capacity(stored: Stored) -> ResponseModel:
    schema = restored_schema(stored.settings.get("schema"), stored.place)
    return LearnedResponse.restored(stored.part("model"), schema)


def _stored_offspring(offspring: OffspringModel) -> Stored | None:
    kind = kind_of(offspring)
    if kind is None:
        return None
    settings = {"kind": kind, "schema": stored_schema(offspring.schema)}  # type: ignore[attr-defined] # these have one
    return Stored.of_parts(settings, model=offspring.stored())  # type: ignore[attr-defined]


def _restored_offspring(stored: Stored) -> OffspringModel:
    schema = restored_schema(stored.settings.get("schema"), stored.place)
    return generator_class(stored.setting("kind", str)).restored(stored.part("model"), schema)


CAPACITY: Form[ResponseModel] = Form(_stored_capacity, _restored_capacity)
OFFSPRING: Form[OffspringModel] = Form(_stored_offspring, _restored_offspring)
