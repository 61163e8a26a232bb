"""One config tree: defaults, file, overrides."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.config import FrameworkConfig, load_config, preset_dir
from coding_framework.errors import ConfigError


@pytest.mark.parametrize("preset", sorted(path.stem for path in preset_dir().glob("*.toml")))
def test_every_shipped_preset_loads(preset: str) -> None:
    assert isinstance(load_config(preset), FrameworkConfig)


def test_there_is_a_quick_preset() -> None:
    assert (preset_dir() / "quick.toml").is_file()


def test_overrides_win_over_the_file_and_values_over_overrides(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[rl]\nsteps = 7\ngroup_size = 4\n")
    config = load_config(path, ["rl.steps=9", "reward.preset=gated"], {"rl.group_size": 6})
    assert (config.rl.steps, config.rl.group_size, config.reward.preset) == (9, 6, "gated")


def test_override_values_are_read_as_toml_or_else_as_text() -> None:
    config = load_config(None, ['tasks.train=["matmul"]', "sft.enabled=false", "run.name=my run"])
    assert config.tasks.train == ("matmul",)
    assert config.sft.enabled is False
    assert config.run.name == "my run"


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("rl.stepz=3", "config rl.stepz: unknown key; did you mean 'steps'?"),
        ("foo=3", "config foo: unknown key; known keys: run, model"),
        ("rl.steps=0", "rl.steps must be at least 1 (got 0)"),
        ("rl.steps=many", "rl.steps must be a whole number (got 'many')"),
        ("rl.steps", "has no '='"),
        ("run.seed.x=1", "run.seed"),
        ('tasks.train=["scale"]', "both trained on and held out"),
        ("rl.algorithm=sarsa", "rl.algorithm must be one of 'grpo', 'dapo' or 'ppo' (got 'sarsa')"),
        ("rl.learning_rate=inf", "rl.learning_rate must be a finite number"),
        ("rl.kl_coef=nan", "rl.kl_coef must be"),
        ("rl.clip_low=5", "rl.clip_low must be below 1"),
        ("rl.prompts_per_step=1000000000", "rl.prompts_per_step must be at most 100000"),
        ("sft.agents=[]", "sft.agents must not be empty"),
        ('sft.agents=["tester"]', "of which there are no pairs"),
        ("sft.max_length=64", "no pair would fit"),
        ('monitoring.sinks=["wandb", "wandb"]', "monitoring.sinks names wandb twice"),
    ],
)
def test_nonsense_is_refused_with_the_key_and_what_it_should_be(override: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("quick", [override])
    assert complaint in str(caught.value)


def test_a_value_where_a_section_is_expected_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("rl = 3\n")
    with pytest.raises(ConfigError, match="is a value, not a section"):
        load_config(path, ["rl.steps=3"])


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no config file nothing; give a \.toml file or a preset .*quick"):
        load_config("nothing")
    broken = tmp_path / "broken.toml"
    broken.write_text("[rl\n")
    with pytest.raises(ConfigError, match=r"broken\.toml cannot be read"):
        load_config(broken)
    listed = tmp_path / "list.json"
    listed.write_text("[]")
    with pytest.raises(ConfigError, match="top level must be a table"):
        load_config(listed)


def test_the_resolved_config_round_trips_through_json(tmp_path: Path) -> None:
    config = load_config("quick", ["rl.steps=3"])
    path = tmp_path / "config.json"
    path.write_text(config.model_dump_json())
    assert load_config(path) == config


def test_epochs_on_the_command_line_replace_the_steps_of_the_file() -> None:
    config = load_config("quick", ["sft.epochs=1.5"])
    assert (config.sft.steps, config.sft.epochs) == (None, 1.5)
    assert config.sft.num_steps(30) == 12
    assert load_config("quick", ["sft.steps=3"]).sft.num_steps(30) == 3


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["sft.epochs=3"], "sft.epochs must be at most 2"),
        (["sft.epochs=1", "sft.steps=5"], "give one of them"),
        (["sft.batch_tokens=512"], "fit into no row"),
    ],
)
def test_settings_of_sft_that_contradict_each_other_are_refused(overrides: list[str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        load_config("quick", overrides)


def test_null_leaves_a_setting_open_again() -> None:
    config = load_config("quick", ["sft.steps=null", "rl.save_every=7"])
    assert (config.sft.steps, config.rl.save_every) == (None, 7)
    assert load_config("quick", ["sft.epochs=null"]).sft.steps == 44


def test_a_folder_of_the_same_name_does_not_hide_a_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quick").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_config("quick").run.name == "quick"


def test_left_open_sft_makes_two_passes_at_most() -> None:
    assert load_config().sft.num_steps(1600) == 400
    assert load_config().sft.num_steps(30) == 16
    assert load_config("quick").sft.num_steps(30) == 44, "what is given stays"
