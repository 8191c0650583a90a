/** Checks the types of actors across a port: both ends, and functions that accept any of them. */
import { f32, i32, Replay } from "reprise";
import { ReverbAddTrajectoryObserver, trajectorySpec } from "reprise/agents";
import { type PortLike, type RemoteWriter, remoteWriter } from "reprise/remote";
import { pushEpisodes, type RldsDataset } from "reprise/rlds";

const spec = { observation: f32(2), action: i32(), reward: f32() };

class Actor {
  readonly writer: RemoteWriter;

  constructor(writer: RemoteWriter) {
    this.writer = writer;
  }
}

const inFlight = (writer: RemoteWriter): number => writer.inFlight;

export async function act(port: PortLike, data: RldsDataset): Promise<number> {
  const writer = await remoteWriter(port, { spec });
  await writer.append({ observation: [1, 2], action: 1, reward: 1 });
  writer.staged.reward = 2;
  await writer.append();
  await writer.appendColumns({ observation: [[1, 2]], action: [1], reward: [1] }, { terminated: [1] });
  await writer.createItem("memory", { length: 1, priority: 2, columns: { last: { leaf: "reward", at: -1 } } });
  await writer.endEpisode({ final: { observation: [1, 2] }, terminated: false });
  // @ts-expect-error no such leaf
  await writer.append({ observations: [1, 2], action: 1, reward: 1 });
  // @ts-expect-error one lane
  await writer.append({ observation: [1, 2], action: 1, reward: 1 }, { terminated: [true] });

  const lanes = await remoteWriter(port, { spec, lanes: 2 });
  const two = { observation: new Float32Array(4), action: [1, 1], reward: [0, 0] };
  await lanes.append(two, { terminated: [true, false], truncated: [0, 1], final: { observation: [[1, 2], null] } });

  const pushed = await pushEpisodes(data, writer);
  const trajectories = await remoteWriter(port, { spec: trajectorySpec({ observation: f32(2), action: i32() }) });
  new ReverbAddTrajectoryObserver(trajectories, { tableName: "memory", sequenceLength: 2 });
  return inFlight(new Actor(writer).writer) + inFlight(lanes) + inFlight(trajectories) + pushed.steps;
}

export async function remember(port: PortLike): Promise<boolean> {
  const replay = new Replay({ spec, tables: { memory: { maxSize: 100 } } });
  const accepted = await replay.acceptWriter(port, { items: [{ table: "memory", nStep: 3 }], maxInFlight: 64 });
  // @ts-expect-error no such table
  await replay.acceptWriter(port, { items: [{ table: "memroy", nStep: 3 }] });
  const { how } = await accepted.closed;
  return how === "left";
}
