"""Opens the datasets that .ci/exports.mjs wrote, with the real lerobot and minari, and prints one line of JSON per case: whether the data is right."""
import logging
import sys

import numpy as np
import torch
import torch_apart  # noqa: F401

logging.disable(logging.WARNING)
import minari
import pandas as pd
from cases import DTYPES, Wrong, cases_in, must
from lerobot.datasets.compute_stats import aggregate_stats, compute_episode_stats
from lerobot.datasets.lerobot_dataset import LeRobotDataset

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}


def same(found, expected, what):
    """Compares values bit by bit, except that any two NaNs are equal."""
    found, expected = np.asarray(found), np.asarray(expected)
    must((str(found.dtype), found.shape), (str(expected.dtype), expected.shape), f"{what}: dtype and shape")
    if not np.array_equal(found, expected, equal_nan=found.dtype.kind == "f"):
        raise Wrong(f"{what} must be {expected}, got {found}")


def near(found, expected, what, rtol=1e-9, atol=1e-12):
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    must(found.shape, expected.shape, f"{what}: shape")
    if not np.allclose(found, expected, rtol=rtol, atol=atol):
        raise Wrong(f"{what} must be {expected}, got {found}")


def columns_of(columns):
    """Returns the columns that the JavaScript side wrote: an array or a list of texts by path."""
    read = {}
    for column in columns:
        shape = tuple(column["shape"])
        read[column["path"]] = column["texts"] if column["dtype"] == "string" else np.fromfile(column["file"], DTYPES[column["dtype"]]).reshape((-1,) + shape)
    return read


def feature_of(path):
    keys = path.split("/")
    if keys == ["reward"]:
        return "next.reward"
    if keys == ["observation"]:
        return "observation.state"
    return ".".join(keys)


def statistics(values, is_picture):
    """Returns the statistics of one episode, computed with NumPy."""
    flat = values.reshape(-1, values.shape[-1]).astype(np.float64) if values.ndim > 1 else values.reshape(-1, 1).astype(np.float64)
    if is_picture:
        flat = flat / 255
    told = {"min": flat.min(0), "max": flat.max(0), "mean": flat.mean(0), "std": flat.std(0)}
    for name, q in QUANTILES.items():
        told[name] = np.quantile(flat, q, axis=0, method="inverted_cdf") if len(flat) > 1 else told["mean"]
    return {name: value.reshape(-1, 1, 1) if is_picture else value for name, value in told.items()}


def check_lerobot(case):
    steps, lengths, path, fps = columns_of(case["steps"]), case["lengths"], case["path"], case["fps"]
    ds = LeRobotDataset("made/here", root=path, video_backend="pyav")
    must((ds.num_episodes, ds.num_frames, ds.fps, len(ds)), (len(lengths), sum(lengths), fps, sum(lengths)), "episodes, frames, fps")
    tasks = steps[case["task"]] if "task" in case else [case["tasks"]] * sum(lengths)
    must(list(ds.meta.tasks.index), list(dict.fromkeys(tasks)), "tasks")
    must(list(ds.meta.tasks["task_index"]), list(range(len(set(tasks)))), "task_index")
    for path_of, names in case.get("names", {}).items():
        must(ds.meta.features[path_of]["names"], names, "names")
    pictures = {feature_of(column["path"]) for column in case["steps"] if column["dtype"] == "u8" and len(column["shape"]) == 3}
    must(set(ds.meta.image_keys), pictures, "images")
    columns = {feature_of(name): values for name, values in steps.items() if name not in ("is_first", "is_last", "task")}
    columns["next.done"] = steps["is_last"]
    films = {f"observation.images.{name}": values for name, values in columns_of(case.get("films", [])).items()}
    must(set(ds.meta.video_keys), set(films), "films")
    starts = np.concatenate([[0], np.cumsum(lengths)])
    counted = {
        "timestamp": np.concatenate([np.arange(n) / fps for n in lengths]).astype(np.float32),
        "frame_index": np.concatenate([np.arange(n) for n in lengths]),
        "episode_index": np.repeat(np.arange(len(lengths)), lengths),
        "index": np.arange(sum(lengths)),
        "task_index": np.array([list(dict.fromkeys(tasks)).index(task) for task in tasks]),
    }
    columns.update(counted)
    must(set(ds.meta.features), set(columns) | set(films), "features")
    for i in range(len(ds)):
        item = ds[i]
        must(item["task"], tasks[i], f"task of frame {i}")
        for name, values in columns.items():
            what, wanted = f"{name} of frame {i}", values[i]
            if isinstance(wanted, str):
                must(item[name], wanted, what)
            elif name in pictures:
                same((item[name] * 255).round().to(torch.uint8).permute(1, 2, 0).numpy(), wanted, what)
            else:
                # Torch has no unsigned integers except bytes, so lerobot widens them.
                found, wanted = item[name].numpy(), np.asarray(wanted)
                same(found.astype(wanted.dtype), wanted.reshape(()) if wanted.shape == (1,) else wanted, what)
        for name, values in films.items():
            found = (item[name] * 255).permute(1, 2, 0).numpy()
            difference = np.abs(found - values[i]).mean()
            # Consecutive frames differ by about 40.
            if not difference < 6:
                raise Wrong(f"{name} of frame {i} differs by {difference} levels in the mean")
    check_episodes(ds, case, {**columns, **films}, starts, tasks, pictures | set(films))
    batch = next(iter(torch.utils.data.DataLoader(ds, batch_size=2)))
    must(batch["action"].shape[0], 2, "a batch")
    if lengths[0] > 1:
        windows = LeRobotDataset("made/here", root=path, video_backend="pyav", episodes=[0], delta_timestamps={"action": [0, 1 / fps]})
        must((len(windows), windows[0]["action"].shape[0], windows[lengths[0] - 1]["action_is_pad"].tolist()), (lengths[0], 2, [False, True]), "windows of one episode")


def check_episodes(ds, case, columns, starts, tasks, pictures):
    """Checks the table of episodes, the statistics of each episode against NumPy and lerobot, and the statistics of the dataset against lerobot's totals."""
    table = pd.concat([pd.read_parquet(path) for path in sorted(ds.root.glob("meta/episodes/*/*.parquet"))])
    own = []
    for k, length in enumerate(case["lengths"]):
        row, episode = table.iloc[k], ds.meta.episodes[k]
        a, b = int(starts[k]), int(starts[k + 1])
        must((episode["length"], episode["dataset_from_index"], episode["dataset_to_index"]), (length, a, b), f"place of episode {k}")
        must(list(episode["tasks"]), list(dict.fromkeys(tasks[a:b])), f"tasks of episode {k}")
        if "operator" in case:
            must((row["episode/success"], row["episode/operator"]), (k % 2 == 0, f"operator {k}"), f"metadata of episode {k}")
        told = {}
        for name, values in columns.items():
            if isinstance(values, list):
                continue
            is_picture = name in pictures
            told[name] = {s: np.array([part.tolist() if hasattr(part, "tolist") else part for part in row[f"stats/{name}/{s}"]]) for s in ["min", "max", "mean", "std", "count", *QUANTILES]}
            if is_picture:
                told[name] = {s: np.array([[[one[0][0]]] for one in value]) if s != "count" else value for s, value in told[name].items()}
            must(told[name]["count"].tolist(), [length], f"count of {name}")
            for s, value in statistics(values[a:b], is_picture).items():
                near(told[name][s], value, f"{s} of {name} in episode {k}")
            if not is_picture and length > 1:
                theirs = compute_episode_stats({name: values[a:b]}, {name: {"dtype": str(values.dtype)}})[name]
                span = np.asarray(theirs["max"], np.float64) - np.asarray(theirs["min"], np.float64)
                for s in ["min", "max"]:
                    near(told[name][s], theirs[s], f"{s} of {name}, as lerobot has it,")
                for s in QUANTILES:
                    near(told[name][s], theirs[s], f"{s} of {name}, as lerobot has it,", atol=span.max() / 2500 + 1e-6)
        own.append(told)
    alike = {name for name in own[0] if not ("image" in name and own[0][name]["mean"].shape != (3, 1, 1))}
    total = aggregate_stats([{name: told[name] for name in alike} for told in own])
    must(set(ds.meta.stats), set(own[0]), "features with statistics")
    for name in alike:
        for s, value in total[name].items():
            near(ds.meta.stats[name][s], value, f"{s} of {name} in all", rtol=1e-7, atol=1e-9)


def check_lerobot_copy(case):
    """Compares a dataset written by lerobot with its copy by Reprise, which may rename leaves: every value and every frame of the films."""
    names = case["rename"]
    copy, original = (LeRobotDataset("made/here", root=path, video_backend="pyav") for path in (case["path"], case["original"]))
    must((copy.num_episodes, copy.num_frames, copy.fps), (original.num_episodes, original.num_frames, original.fps), "episodes, frames, fps")
    must(set(copy.meta.video_keys), {names.get(name, name) for name in original.meta.video_keys}, "films")
    for name, feature in original.meta.features.items():
        must(copy.meta.features[names.get(name, name)], feature, f"feature {name}")
    for i in range(len(original)):
        wanted, found = original[i], copy[i]
        for name, value in wanted.items():
            other = found[names.get(name, name)]
            if isinstance(value, str):
                must(other, value, f"{name} of frame {i}")
            else:
                same(other.numpy(), value.numpy(), f"{name} of frame {i}")


def check_lerobot_cut(case):
    """Compares some episodes of a dataset written by lerobot with Reprise's cut. Values must be equal. Films are encoded again, so a frame must be nearest to
    its original."""
    cut, original = (LeRobotDataset("made/here", root=path, video_backend="pyav") for path in (case["path"], case["original"]))
    rows = [original[i] for i in range(len(original))]
    wanted = [i for i, row in enumerate(rows) if int(row["episode_index"]) in case["episodes"]]
    must((cut.num_episodes, cut.num_frames, cut.fps), (len(case["episodes"]), len(wanted), original.fps), "episodes, frames, fps")
    must(cut.meta.video_keys, original.meta.video_keys, "films")
    for i, row in enumerate(wanted):
        found = cut[i]
        for name in cut.meta.video_keys:
            distances = [float((found[name] - other[name]).abs().mean()) for other in rows]
            must(int(np.argmin(distances)), row, f"the frame of {name} nearest to frame {i}")
            must(distances[row] < 0.02, True, f"{name} of frame {i} differs by {distances[row]} on average")
        for name in ("observation.state", "action", "timestamp"):
            if name in rows[row]:
                same(found[name].numpy(), rows[row][name].numpy(), f"{name} of frame {i}")


def flat(value, prefix):
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else None
    if parts is None:
        yield prefix, value
    else:
        for name, part in parts:
            yield from flat(part, f"{prefix}/{name}")


def check_minari(case):
    steps, lengths, repeats = columns_of(case["steps"]), case["lengths"], case.get("repeats", False)
    ds = minari.load_dataset(case["path"])
    actions = [n if repeats else n - 1 for n in lengths]
    must((ds.total_episodes, ds.total_steps, ds.id), (len(lengths), sum(actions), case["path"]), "episodes, steps, id")
    must(case["path"] in minari.list_local_datasets(), True, "listed")
    must(ds.storage.jpeg_encoding, not case.get("raw", False), "encoded images")
    if "choices" in case:
        must(int(ds.action_space["way"].n), case["choices"], "choices")
    start = 0
    for k, (episode, length, taken) in enumerate(zip(ds, lengths, actions)):
        rows = list(range(start, start + length)) + ([start + length - 1] if repeats else [])
        seen = set()
        for name, values in [*flat(episode.observations, "observation"), *flat(episode.actions, "action"), ("reward", episode.rewards), *flat(episode.infos, "")]:
            name = name.removeprefix("/")
            seen.add(name)
            own = rows if name.startswith("observation") or not name.startswith(("action", "reward")) else rows[:taken]
            if isinstance(steps[name], list):
                must([str(one) for one in values], [steps[name][i] for i in own], f"{name} of episode {k}")
            else:
                same(values, steps[name][own], f"{name} of episode {k}")
        must(seen | {"is_first", "is_last", "is_terminal"}, set(steps), "leaves")
        last = bool(steps["is_terminal"][start + length - 1])
        must(episode.terminations.tolist(), [False] * (taken - 1) + [last], f"terminations of episode {k}")
        must(episode.truncations.tolist(), [False] * (taken - 1) + [not last], f"truncations of episode {k}")
        for i in range(taken):
            pick = lambda value: {name: pick(part) for name, part in value.items()} if isinstance(value, dict) else tuple(pick(part) for part in value) if isinstance(value, tuple) else value[i]
            contained(ds.observation_space, pick(episode.observations), f"observation {i} of episode {k}")
            contained(ds.action_space, pick(episode.actions), f"action {i} of episode {k}")
        start += length
    must([about["total_steps"] for about in ds.storage.get_episode_metadata(range(len(lengths)))], actions, "steps of episodes")
    must(len(list(ds.sample_episodes(2))), 2, "sampled episodes")
    must(len(ds.filter_episodes(lambda episode: bool(episode.terminations[-1]))), sum(bool(steps["is_terminal"][sum(lengths[: k + 1]) - 1]) for k in range(len(lengths))), "filtered episodes")


def contained(space, value, what):
    if hasattr(space, "spaces"):
        parts = space.spaces.items() if isinstance(space.spaces, dict) else enumerate(space.spaces)
        for name, part in parts:
            contained(part, value[name], f"{what}/{name}")
    elif not space.contains(value if space.__class__.__name__ != "Box" else np.asarray(value)):
        raise Wrong(f"{what} must be in {space}, got {value}")


KINDS = {"lerobot": check_lerobot, "lerobot-copy": check_lerobot_copy, "lerobot-cut": check_lerobot_cut, "minari": check_minari}


if __name__ == "__main__":
    for _ in cases_in(sys.argv[1], KINDS):
        pass
