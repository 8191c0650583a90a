/** Tests addresses of the files in a served folder. */
import { expect, test } from "vitest";
import { fileAddress } from "../../../page/look/model/file-address.ts";

test.each([
  ["http://127.0.0.1:8000/t/data/", "meta/info.json", "http://127.0.0.1:8000/t/data/meta/info.json"],
  ["http://127.0.0.1:8000/t/data", "a # of 50 %?.mp4", "http://127.0.0.1:8000/t/data/a%20%23%20of%2050%20%25%3F.mp4"],
  ["https://example.org/", "12:30/ü.mp4", "https://example.org/12%3A30/%C3%BC.mp4"],
  ["https://example.org/data?key=1", "http://other/x", "https://example.org/data/http%3A//other/x?key=1"],
])("the address of a file: folder %s, path %s", (folder, path, address) => {
  expect(fileAddress(folder, path)).toBe(address);
});
