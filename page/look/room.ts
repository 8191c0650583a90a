/** Implements the room for recorded data: open data, play its episodes, find its faults, and export the good part. */
import { h } from "../parts/element.ts";
import { Progress } from "../parts/progress.ts";
import { trouble } from "../parts/trouble.ts";
import { Client } from "./client.ts";
import { DatasetView } from "./dataset-view.ts";
import type { Given } from "./messages.ts";
import { EXAMPLE_NAME, exampleLines } from "./model/example.ts";
import { givenFiles, givenUrl, listedFiles } from "./model/given.ts";
import { inWordsOfTheForm } from "./model/reading-options.ts";
import { removeLeft } from "./private-disk.ts";
import { chooser } from "./ui/chooser.ts";
import { optionsForm } from "./ui/options-form.ts";

/** @param query `from`: the address of a dataset to open immediately; `without`, `only`, `rename`, `null` and `salvage`: reading options */
export function room(host: HTMLElement, signal: AbortSignal, query: URLSearchParams): void {
  const client = new Client(signal);
  void removeLeft();
  const faults = h("div", { class: "faults" });
  const content = h("div", { class: "dataset-place" });
  let own = new AbortController();
  signal.addEventListener("abort", () => own.abort());
  const fail = (error: unknown) => faults.replaceChildren(trouble(inWordsOfTheForm(error instanceof Error ? error.message : String(error))));
  /** The last input, even if it could not be opened. */
  let current: Given | undefined;
  const options = optionsForm(() => current !== undefined && void open(() => current), query);

  /** @param ask returns the user's input, or undefined if it contains no file */
  const open = async (ask: (signal: AbortSignal) => Given | undefined | Promise<Given | undefined>, split?: string) => {
    own.abort();
    own = new AbortController();
    const { signal: opened } = own;
    const progress = new Progress("Opening", () => own.abort());
    faults.replaceChildren(progress.element);
    content.replaceChildren();
    try {
      const given = await ask(opened);
      if (given === undefined) throw new TypeError("your selection contains no files");
      opened.throwIfAborted();
      current = given;
      const dataset = await client.open({ given, split, options: options.read() }, opened);
      opened.throwIfAborted();
      choose.compact();
      options.setOpen(true);
      faults.replaceChildren();
      const view = new DatasetView(dataset, given, client, fail, (name) => void open(() => given, name), opened);
      content.replaceChildren(view.element);
      await view.start();
    } catch (error) {
      options.setOpen(current !== undefined);
      if (!opened.aborted) fail(error);
    } finally {
      progress.end();
    }
  };

  const choose = chooser(
    host,
    {
      example: () => void open(() => givenFiles([{ path: EXAMPLE_NAME, file: new File([exampleLines()], EXAMPLE_NAME) }])),
      files: (files) => void open(() => givenFiles(files)),
      url: (address) => void open((stopped) => named(address, stopped)),
      trouble: fail,
    },
    options.element,
    signal,
  );
  host.append(h("h1", {}, "Look at recorded data"), choose.element, faults, content);
  const from = query.get("from");
  if (from !== null) void open((stopped) => named(from, stopped));
}

/** Returns the input for an address. For a folder of `serve-page`, `serve-page` lists the files. */
async function named(address: string, signal: AbortSignal): Promise<Given> {
  const given = givenUrl(address, location.origin);
  if (given.kind !== "url") return given;
  const url = new URL(given.url);
  if (url.origin !== location.origin || !url.pathname.endsWith("/")) return given;
  const answer = await fetch(new URL("index.json", url), { signal });
  const listed = answer.ok ? listedFiles(await answer.json()) : undefined;
  return listed === undefined ? given : { ...given, listed };
}
