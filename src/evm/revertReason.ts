import { bytesToBigInt, bytesToHex } from '../primitives/bytes.ts'

const ERROR_STRING = '0x08c379a0'
const PANIC = '0x4e487b71'

/** geth's messages for the codes of Solidity's panics (accounts/abi/abi.go). */
const PANIC_REASONS: Readonly<Record<string, string>> = {
  '0': 'generic panic',
  '1': 'assert(false)',
  '11': 'arithmetic underflow or overflow',
  '12': 'division or modulo by zero',
  '21': 'enum overflow',
  '22': 'invalid encoded storage byte array accessed',
  '31': 'out-of-bounds array access; popping on an empty array',
  '32': 'out-of-bounds access of an array or bytesN',
  '41': 'out of memory',
  '51': 'uninitialized function',
}

/**
 * Returns the reason in `Error(string)` or `Panic(uint256)` (geth: abi.UnpackRevert); undefined for
 * other revert data.
 */
export function revertReason(data: Uint8Array): string | undefined {
  if (data.length < 4) return undefined
  const selector = bytesToHex(data.subarray(0, 4))
  const body = data.subarray(4)
  if (selector === ERROR_STRING) return decodeString(body)
  if (selector !== PANIC || body.length < 32) return undefined
  const code = bytesToBigInt(body.subarray(0, 32)).toString(16)
  return PANIC_REASONS[code] ?? `unknown panic code: 0x${code}`
}

/** Returns the one ABI-encoded string in `body`; undefined when its offset or length points outside. */
function decodeString(body: Uint8Array): string | undefined {
  const start = wordAt(body, 0)
  if (start === undefined) return undefined
  const length = wordAt(body, start)
  if (length === undefined || start + 32 + length > body.length) return undefined
  return new TextDecoder().decode(body.subarray(start + 32, start + 32 + length))
}

function wordAt(body: Uint8Array, offset: number): number | undefined {
  if (offset + 32 > body.length) return undefined
  const value = bytesToBigInt(body.subarray(offset, offset + 32))
  return value > BigInt(body.length) ? undefined : Number(value)
}
