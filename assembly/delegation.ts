// EIP-7702: an account's code may name another account, whose code runs in its place.
import { CODE_BYTES, CODE_LENGTH } from './layout'

const DESIGNATOR_LENGTH: u32 = 23
/** 0xef0100, as the three lowest bytes of a number. */
const PREFIX: u32 = 0x0001ef
const PREFIX_MASK: u32 = 0xffffff

/** Pointer to the address to which a code delegates, or 0. */
export function delegationOf(code: usize): usize {
  if (load<u32>(code, CODE_LENGTH) !== DESIGNATOR_LENGTH) return 0
  const bytes = load<usize>(code, CODE_BYTES)
  return (load<u32>(bytes) & PREFIX_MASK) === PREFIX ? bytes + 3 : 0
}
