"""A random model whose words are whole kernels: it can pass or fail a task from its first sample on."""

from __future__ import annotations

from pathlib import Path

from coding_framework.data.tasks import get_task
from tiny_model import CHAT_TEMPLATE, SPECIAL_TOKENS

BROKEN_ANSWER = '```cuda\nextern "C" __global__ void k(float* y) { y[0] = undeclared; }\n```\n'


def right_answer(task: str) -> str:
    return f"```cuda\n{get_task(task).baseline.strip()}\n```\n"


def write_kernel_words_model(folder: Path, task: str, *kernels: str) -> Path:
    """Seven words: three marks of the chat, an unknown, plain text, a right and a broken answer.

    Right answers are those to the task, or the kernels that are given.
    """
    import torch
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    vocabulary = {word: index for index, word in enumerate([*SPECIAL_TOKENS, "<unk>", "text"])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.add_special_tokens(SPECIAL_TOKENS)
    right = [f"```cuda\n{kernel.strip()}\n```\n" for kernel in kernels] or [right_answer(task)]
    backend.add_tokens([AddedToken(answer) for answer in (*right, BROKEN_ANSWER)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        unk_token="<unk>",
        chat_template=CHAT_TEMPLATE,
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=False,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
