/** Creates HDF5 files like those of h5py, with a dataset per array. */

type Numbers = Float32Array | Uint8Array;

/** @param arrays the data, shapes, and optional chunk shapes */
export async function h5File(arrays: {
  readonly [name: string]: readonly [data: Numbers, shape: readonly number[], chunks?: readonly number[]];
}): Promise<Uint8Array<ArrayBuffer>> {
  const h5wasm = (await import("h5wasm")).default;
  const { FS } = await h5wasm.ready;
  const path = "made.hdf5";
  const file = new h5wasm.File(path, "w");
  for (const [name, [data, shape, chunks]] of Object.entries(arrays))
    file.create_dataset({ name, data, shape: [...shape], ...(chunks && { chunks: [...chunks], compression: 1 }) });
  file.close();
  const bytes = new Uint8Array(FS.readFile(path));
  FS.unlink(path);
  return bytes;
}
