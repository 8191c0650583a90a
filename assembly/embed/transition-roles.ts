/**
 * Maps leaves to roles in a transition. If no line maps a role, the role is played by the leaf with the name of the role, or by the leaves below that name.
 *
 * ROLE, 16 bytes: │ path u32 │ bytes u32 │ isSet u32 │ … u32 │
 */
import { NONE } from "../draw/n-step";
import { BOOL, TEXT } from "../rows/leaf";
import { Field } from "./field";
import { INVALID, NOT_FOUND, Refusal, SPEC_MISMATCH } from "./refusal";
import { ROLES_AT, Root } from "./root";
import { TextReader } from "./text-reader";

export const OBSERVATION: u32 = 0;
export const ACTION: u32 = 1;
export const REWARD: u32 = 2;
export const DISCOUNT: u32 = 3;
export const TERMINATED: u32 = 4;
export const ROLES: u32 = 5;
/** The number of bytes reserved for the names of all roles. */
export const NAMES_BYTES: u32 = 64;

@unmanaged
export class Role {
  path: u32;
  bytes: u32;
  isSet: u32;
  unused: u32;

  @inline
  static of(role: u32): Role {
    return changetype<Role>(changetype<usize>(Root.the()) + ROLES_AT + <usize>(role << 4));
  }

  /** Whether a leaf plays this role, or a part of it. */
  has(field: Field): bool {
    return field.isIn(this.path, this.bytes);
  }
}
if (offsetof<Role>() != 16) ERROR("ROLE is 16 bytes");

/** Writes the default names of the roles to NAMES_BYTES of memory. */
export function initRoles(at: u32): void {
  for (let role: u32 = 0; role < ROLES; role++) {
    const name = roleName(role);
    Role.of(role).path = at;
    Role.of(role).bytes = name.length;
    for (let i = 0; i < name.length; i++) store<u8>(at++, <u8>name.charCodeAt(i));
  }
}

/** Reads the line `role NAME PATH`. */
export function readRole(words: TextReader): i32 {
  let code = words.want("the role");
  if (code != 0) return code;
  const role = roleNamed(words);
  if (role == ROLES) return words.refused("the role", "observation, action, reward, discount or terminated");
  if (Role.of(role).isSet != 0) return words.here(INVALID).put("the role ").put(roleName(role)).put(" must be set only once").code;
  code = words.want("the path after the role");
  if (code == 0) code = setRole(words, role);
  return code == 0 ? words.done() : code;
}

/** Returns the role that a word names, or ROLES if the word names no role. */
export function roleNamed(words: TextReader): u32 {
  let role: u32 = 0;
  while (role < ROLES && !words.is(roleName(role))) role++;
  return role;
}

/** Sets the path of a role to the word that was read. Returns 0, or INVALID if the role already has one. */
export function setRole(words: TextReader, role: u32): i32 {
  if (Role.of(role).isSet != 0) return words.here(INVALID).put("the role ").put(roleName(role)).put(" must be set only once").code;
  Role.of(role).path = words.word;
  Role.of(role).bytes = words.bytes;
  Role.of(role).isSet = 1;
  return 0;
}

/** Checks that the leaves that lines assign to roles exist, and have the form that the role requires. Returns 0, or the code of a refusal. */
export function checkRoles(): i32 {
  for (let role: u32 = 0; role < ROLES; role++) {
    if (Role.of(role).isSet == 0) continue;
    if (firstOf(role) < 0) {
      const refusal = Refusal.of(NOT_FOUND).put("the role ").put(roleName(role));
      return refusal.put(" must be the path of a leaf, got ").word(Role.of(role).path, Role.of(role).bytes).code;
    }
    if (role < REWARD) continue;
    const code = numberIn(role);
    if (code < 0) return code;
  }
  return 0;
}

/** Refuses a rule or a view that needs a role that no leaf plays; else returns 0. */
export function required(role: u32, what: string): i32 {
  if (firstOf(role) >= 0) return 0;
  const refusal = Refusal.of(NOT_FOUND).put(what).put(" needs the ").put(roleName(role)).put(", but no leaf has that name. Add role ");
  return refusal.put(roleName(role)).put(" PATH").code;
}

/**
 * Returns the index of a role's leaf, which must have one number per step; a reward may have several. Returns NONE if no leaf plays the role, or SPEC_MISMATCH
 * if the shape or the dtype of the leaf is unsuitable, or if the leaf is shared.
 */
export function numberIn(role: u32): i32 {
  const first = firstOf(role);
  if (first < 0) return NONE;
  const field = Field.of(first);
  const own = field.is(Role.of(role).path, Role.of(role).bytes);
  if (own && (field.size == 1 || role == REWARD) && field.isShared == 0 && field.dtype != TEXT && (field.dtype != BOOL || role == TERMINATED)) return first;
  const refusal = Refusal.of(SPEC_MISMATCH).put("the ").put(roleName(role));
  refusal.put(role == REWARD ? " must be a numeric leaf" : " must be one number per step");
  return refusal
    .put(role == TERMINATED ? ", and must not be text or shared" : ", and must not be text, bool or shared")
    .put(", got the leaf ")
    .word(field.path, field.bytes).code;
}

export function roleName(role: u32): string {
  switch (role) {
    case OBSERVATION:
      return "observation";
    case ACTION:
      return "action";
    case REWARD:
      return "reward";
    case DISCOUNT:
      return "discount";
    default:
      return "terminated";
  }
}

/** Returns the index of the first leaf that plays a role, or a part of it; -1 if there is none. */
function firstOf(role: u32): i32 {
  const fields = Root.the().fields();
  for (let i: u32 = 0; i < fields.count; i++) if (Role.of(role).has(Field.of(i))) return i;
  return -1;
}
