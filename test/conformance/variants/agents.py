"""Defines additional inputs for trajectories, Python buffers and drivers, some of them random with a fixed seed: `generate_more.py OUT --cases agents.py --only
trajectories,py-buffers,drivers`."""
import random

from morekit import *

R = random.Random(20261125)
TRAJECTORIES, PY_BUFFERS, DRIVERS = [], [], []
T, P, D = trajectory_case(TRAJECTORIES), py_case(PY_BUFFERS), driver_case(DRIVERS)
DEEP = {**TSPEC, 'observation': {'pixels': leaf('uint8', 2), 'pair': [F, L]}, 'action': leaf('float32', 2), 'policy_info': {'logits': leaf('float32', 2)}}


def types(n):
    """Returns n + 1 random step types, in an order that consecutive episodes can have."""
    out = [R.choice([0, 1, 1, 2])]
    while len(out) <= n:
        out.append(0 if out[-1] == 2 else R.choice([1, 1, 2]))
    return out


def row(n, base):
    """Returns n consecutive random steps. Some of their episodes are truncated."""
    t = types(n)
    discount = [R.choice([0.0, 0.0, 1.0]) if k == 2 else R.choice([1.0, 1.0, 0.5]) for k in t[1:]]
    return rows(t, base, discount=discount)


def deep(t):
    """Returns a copy of t with nested observations, vector actions and policy infos. Works with any leading dimensions."""
    def at(v, f):
        return [at(x, f) for x in v] if isinstance(v, list) else f(v)
    o = t['observation']
    return {**t, 'observation': {'pixels': at(o, lambda v: [int(v) % 250, 255 - int(v) % 250]), 'pair': [o, at(o, lambda v: 2 ** 40 + int(v))]},
            'action': at(t['action'], lambda v: [v, -v]), 'policy_info': {'logits': at(o, lambda v: [v / 4, -v])}}


for i in range(60):
    n, b = R.choice([1, 2, 2, 3, 4, 5]), R.choice([1, 2, 3])
    is_deep = R.random() < 0.4
    shaped = deep if is_deep else (lambda t: t)
    spec = DEEP if is_deep else TSPEC
    many = shaped(batch(*[row(n, 10 * k) for k in range(b)]))
    flat = shaped(row(n, 0))
    gamma = R.choice([0.0, 0.5, 0.9, 0.99, 1.0])
    kind = R.choice(['to_transition', 'next', 'n_step', 'n_step', 'squeeze', 'as_transition', 'as_transition', 'as_n_step', 'as_trajectory', 'half', 'episode', 'return', 'flags'])
    if kind == 'to_transition':
        ops = ['to_transition', {'trajectory': many}]
    elif kind == 'next':
        ops = ['to_transition', {'trajectory': flat, 'next_trajectory': shaped(row(n, 50))}]
    elif kind == 'n_step':
        ops = ['to_n_step_transition', {'trajectory': many, 'gamma': gamma}]
    elif kind == 'squeeze':
        ops = ['experience_to_transitions', {'trajectory': many, 'squeeze_time_dim': R.random() < 0.7}]
    elif kind == 'as_transition':
        ops = ['as_transition', {'value': many, **R.choice([{}, {'squeeze_time_dim': True}, {'prepend_t0_to_next_time_step': True}])}]
    elif kind == 'as_n_step':
        ops = ['as_n_step_transition', {'value': many, 'gamma': gamma, **R.choice([{}, {'n': n - 1}, {'n': n}])}]
    elif kind == 'as_trajectory':
        ops = ['as_trajectory', R.choice([{'value': many, **R.choice([{}, {'sequence_length': n}, {'sequence_length': n + 1}])}, {'value': flat, 'num_outer_dims': 1}])]
    elif kind == 'half':
        spec = TSPEC
        ops = ['as_half_transition', {'value': batch(row(n, 0)), **R.choice([{}, {'squeeze_time_dim': True}])}]
    elif kind == 'episode':
        ops = ['from_episode', {**{f: flat[f] for f in ('observation', 'action', 'policy_info', 'reward')}, **({'discount': flat['discount']} if R.random() < 0.5 else {})}]
    elif kind == 'return':
        spec = TSPEC
        rewards, discounts = [[R.randrange(8) / 4 for _ in range(n)] for _ in range(b)], [[R.choice([1.0, 0.5, 0.0]) for _ in range(n)] for _ in range(b)]
        ops = ['discounted_return', {'rewards': rewards, 'discounts': discounts, 'time_major': R.random() < 0.5, 'provide_all_returns': R.random() < 0.5}]
        if R.random() < 0.5:
            ops[1]['final_value'] = [R.randrange(9) for _ in range(n if ops[1]['time_major'] else b)]
    else:
        ops = ['flags', {'trajectory': many}]
    T(f'variant_{i}_{kind}', 'random', ops, spec=spec)

TR1 = {'time_step': tstep([0, 1], [0.5, 1.5], [0, 0], [0, 0]), 'action_step': astep([3, 4]), 'next_time_step': tstep([1, 2], [1.5, 2.5], [2, 3], [1, 0])}
TR2 = {'time_step': tstep([[0, 1]], [[0.5, 1.5]], [[0, 0]], [[0, 0]]), 'action_step': astep([[3, 4]]), 'next_time_step': tstep([[1, 2]], [[1.5, 2.5]], [[2, 3]], [[1, 0]])}
T('variant_transitions', 'Transitions, of both ranks, to all converters.', [[c, {'value': v, **a}] for c, a in (('as_trajectory', {}), ('as_trajectory', {'num_outer_dims': 1}), ('as_transition', {}), ('as_transition', {'squeeze_time_dim': True}), ('as_transition', {'prepend_t0_to_next_time_step': True}), ('as_half_transition', {}), ('as_half_transition', {'squeeze_time_dim': True}), ('as_n_step_transition', {'gamma': 0.5})) for v in (TR1, TR2)])
SPEC_STATE = {**TSPEC, 'state': {'h': leaf('float32', 2)}}
T('variant_state', 'A transition with a policy state, and one without.', [['as_transition', {'value': {**TR1, 'action_step': astep([3, 4], (), {'h': [[1, 2], [3, 4]]})}, 'squeeze_time_dim': True}], ['as_transition', {'value': {**TR2, 'action_step': astep([[3, 4]], (), {'h': [[1, 2]]})}}]], spec=SPEC_STATE)
T('variant_makers_time', 'first and boundary of [1, 2].', [['first', {'observation': [[1.5, 2.5]], 'action': [[3, 4]], 'policy_info': [], 'reward': [[1.0, 2.0]], 'discount': [[1.0, 0.5]]}], ['boundary', {'observation': [[1.5, 2.5]], 'action': [[3, 4]], 'policy_info': [], 'reward': [[1.0, 2.0]], 'discount': [[1.0, 0.5]]}]])
T('variant_truncation', 'truncation.', [['truncation', {'observation': 1.5, 'reward': 2.0}], ['truncation', {'observation': [1.5, 2.5], 'reward': [1.0, 2.0]}], ['truncation', {'observation': [1.5, 2.5], 'reward': [1.0, 2.0], 'discount': [0.5, 0.25]}]])
T('variant_outer_dims', 'outer_dims of a batch.', [['transition', {'observation': [1.5, 2.5], 'reward': [1.0, 2.0], 'outer_dims': [2]}], ['truncation', {'observation': [1.5, 2.5], 'reward': [1.0, 2.0], 'outer_dims': [2]}]])
T('variant_value_of_nothing', 'What is no trajectory.', [['as_transition', {'value': {'x': 1.0}}], ['as_trajectory', {'value': {'x': 1.0}}]], spec={**TSPEC, 'observation': {'x': F}})
T('variant_other_shape', 'An observation of another shape than the spec says.', [['as_trajectory', {'value': {**batch(row(2, 0)), 'observation': [[[1, 2, 3], [4, 5, 6]]]}}]], spec={**TSPEC, 'observation': leaf('float32', 2)})
T('variant_returns_flat', 'Rewards of one dimension.', [['discounted_return', {'rewards': [1, 2, 3], 'discounts': [0.5, 0.5, 0.5], **a}] for a in ({}, {'time_major': False}, {'provide_all_returns': False}, {'final_value': 8})])
T('variant_flags', 'Of one.', [['flags', {'trajectory': {f: v[0] if v else v for f, v in row(1, 0).items()}}]])

for i in range(40):
    is_hashed = R.random() < 0.5
    cap, ops, size = R.choice([1, 2, 3, 5]), [], 0
    for k in range(R.randrange(3, 14)):
        kind = R.choice(['add'] * 6 + ['size', 'gather', 'clear', 'frames', 'all', 'drawn', 'two'])
        frames = [R.randrange(4) for _ in range(2)]
        if kind == 'add':
            ops.append(['add_batch', {'items': stacked_frames(*frames) if is_hashed else [float(k)]}])
            size = min(size + 1, cap)
        elif kind == 'size':
            ops.append(['size'])
        elif kind == 'gather':
            ops.append(['gather_all'])
        elif kind == 'clear' and R.random() < 0.4:
            ops.append(['clear'])
            size = 0
        elif kind == 'frames' and is_hashed:
            ops.append(['frames'])
        elif kind == 'all' and size > 0:
            ops.append(['get_next', {'args': {'num_steps': size, **R.choice([{}, {'sample_batch_size': 2}, {'time_stacked': False}])}}])
        elif kind == 'drawn' and size > 0:
            ops.append(['outcomes', {'args': {'num_steps': R.randrange(1, size + 1)} if R.random() < 0.6 else {}, 'draws': 400}])
    buffer = hashed(cap) if is_hashed else {'class': 'PyUniformReplayBuffer', 'capacity': cap}
    P(f'variant_{i}', 'random', buffer, ops or [['size']], spec=hspec(2, 2) if is_hashed else F)
NEST = {'x': leaf('float32', 2), 'n': [leaf('int64'), leaf('bool')]}
P('variant_nest', 'A nest.', 2, [['add_batch', {'items': {'x': [[k, k + 0.5]], 'n': [[k * 10], [k % 2 == 1]]}}] for k in range(3)] + [['get_next', {'args': {'num_steps': 2}}], ['gather_all'], ['get_next', {'args': {'num_steps': 2, 'time_stacked': False}}], ['dataset', {'args': {'num_steps': 2}, 'take': 1}], ['dataset', {'args': {'num_steps': 1}, 'outcomes': True}]], spec=NEST)
P('variant_hashed_dataset', 'A dataset of a hashed buffer.', hashed(3), [['add_batch', {'items': stacked_frames(1, 2)}], ['dataset', {'args': {}, 'take': 2}], ['dataset', {'args': {'sample_batch_size': 2, 'num_steps': 1}, 'take': 1}]], spec=hspec(2, 2))
P('variant_hashed_batch', 'A batch of two, a wrong shape, no batch.', hashed(3), [['add_batch', {'items': {f: v + v if v else v for f, v in stacked_frames(1, 2).items()}}], ['size'], ['frames'], ['add_batch', {'items': {**stacked_frames(1, 2), 'observation': [[[1, 2, 3], [4, 5, 6]]]}, 'spec': hspec(3, 2)}], ['size']], spec=hspec(2, 2))
P('variant_hashed_nested', 'A nested observation.', hashed(3), [['size']], spec={**TSPEC, 'observation': {'a': leaf('uint8', 2)}})
P('variant_hashed_empty', 'An empty hashed buffer.', hashed(3), [['get_next', {'shapes_only': True}], ['gather_all'], ['frames']], spec=hspec(2, 2))

for i in range(60):
    cls = R.choice(['PyDriver', 'PyDriver', 'DynamicStepDriver', 'DynamicEpisodeDriver'])
    def lengths():
        return [R.choice([1, 2, 3, 4, -1, -2, -3]) for _ in range(R.randrange(1, 4))]
    env = lengths() if R.random() < 0.5 else [lengths() for _ in range(R.randrange(1, 4))]
    args = {'observers': ['o']}
    if R.random() < 0.5:
        args['transition_observers'] = ['x']
    if cls == 'PyDriver':
        if R.random() < 0.4:
            args['info_observers'] = ['n']
        if R.random() < 0.6:
            args['max_steps'] = R.randrange(0, 7)
        if 'max_steps' not in args or R.random() < 0.4:
            args['max_episodes'] = R.randrange(0, 4)
        if R.random() < 0.4:
            args['end_episode_on_boundary'] = R.random() < 0.3
        ops = [['run']] + [R.choice([['run', {'from': 'last'}], ['run', {'from': 'last'}], ['run']]) for _ in range(R.randrange(3))]
    else:
        name = 'num_steps' if cls == 'DynamicStepDriver' else 'num_episodes'
        if R.random() < 0.8:
            args[name] = R.randrange(0, 6 if name == 'num_steps' else 3)
        ops = []
        for _ in range(R.randrange(1, 4)):
            a = {'maximum_iterations': R.randrange(0, 5)} if R.random() < 0.3 else {}
            if name == 'num_episodes' and R.random() < 0.3:
                a['num_episodes'] = R.randrange(0, 3)
            op = {'from': 'last'} if ops and R.random() < 0.5 else {}
            ops.append(['run', {**op, **({'args': a} if a else {})}])
    policy = R.choice([[], ['state'], ['info'], ['state', 'info']])
    D(f'variant_{i}', 'random', cls, env, args, ops, policy=policy)
