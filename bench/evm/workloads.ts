import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { type LoopParts, measuredLoop } from './loop.ts'

interface Workload {
  readonly name: string
  readonly code: Uint8Array
  /** slots that are filled before */
  readonly slots: number
  /** rounds that the filled slots are enough for */
  readonly mostRounds: number
}

/** Two numbers of 256 bits, and a modulus of 192: division by it takes the long way. */
const A = `0x${'f3a5c17b9d2e4806'.repeat(4)}`
const B = `0x${'e1d2c3b4a5968778'.repeat(4)}`
const C = `0x${'8c7d6e5f40312213'.repeat(3)}`
const OPERANDS = `${A} ${B} ${C}`

/** Slots that the cold workloads need. */
const MANY_SLOTS = 15_000
/** Slots that the warm workloads go round in. */
const FEW_SLOTS = 16

const MEMORY = '64'

/**
 * Loops of opcodes. `callee` is a contract of a few instructions, `absent` an account that does not exist.
 */
export function workloads({ callee, absent }: { readonly callee: Address; readonly absent: Address }): Workload[] {
  const plain = (name: string, parts: LoopParts): Workload => ({
    name,
    code: measuredLoop(parts),
    slots: 0,
    mostRounds: Number.POSITIVE_INFINITY,
  })
  const stored = (name: string, slots: number, parts: LoopParts): Workload => ({
    ...plain(name, parts),
    slots,
    mostRounds: slots === FEW_SLOTS ? Number.POSITIVE_INFINITY : slots - 1,
  })
  const inEach = (body: (slot: number) => string): string =>
    Array.from({ length: FEW_SLOTS }, (_, slot) => body(slot)).join(' ')
  return [
    plain('arithmetic', {
      setup: A,
      // sum, product, shift, difference, comparisons: of an accumulator and the count
      body: `SWAP1 DUP2 ADD DUP2 MUL 7 SHL DUP2 SWAP1 SUB DUP2 DUP2 LT ADD 3 SHR DUP2 DUP2 GT XOR SWAP1`,
      unroll: 20,
    }),
    plain('DIV, MOD', {
      setup: OPERANDS,
      body: 'DUP2 DUP5 DIV POP DUP3 DUP5 MOD POP',
      unroll: 40,
    }),
    plain('ADDMOD, MULMOD', {
      setup: OPERANDS,
      body: 'DUP2 DUP4 DUP6 MULMOD POP DUP2 DUP4 DUP6 ADDMOD POP',
      unroll: 40,
    }),
    // the base is odd: powers of even ones become 0
    plain('EXP (32-byte exponent)', { setup: OPERANDS, body: 'DUP4 DUP3 EXP POP', unroll: 10 }),
    ...[32, 64, 256, 4_096].map((length) =>
      plain(`keccak of ${length} bytes`, {
        body: `${length} ${MEMORY} KECCAK256 ${MEMORY} MSTORE`,
        unroll: length < 1_024 ? 20 : 2,
      }),
    ),
    plain('MLOAD, MSTORE', { body: inEach((slot) => `${slot * 40 + 64} MLOAD ${slot * 32 + 80} MSTORE`), unroll: 4 }),
    plain('MCOPY of 256 bytes', { body: '256 64 1024 MCOPY 256 1024 80 MCOPY', unroll: 20 }),
    stored('storage reads, warm', FEW_SLOTS, { body: inEach((slot) => `${slot} SLOAD POP`), unroll: 4 }),
    stored('storage reads, cold', MANY_SLOTS, { body: 'DUP1 SLOAD POP' }),
    stored('storage writes, warm', FEW_SLOTS, { body: inEach((slot) => `DUP1 ${slot} SSTORE`), unroll: 4 }),
    stored('storage writes, cold', MANY_SLOTS, { body: 'DUP1 1 ADD DUP2 SSTORE' }),
    plain('storage writes, new slots', { body: 'DUP1 DUP1 SSTORE' }),
    ...['CALL', 'STATICCALL', 'DELEGATECALL'].map((kind) =>
      plain(`${kind} of a small contract`, { body: callOf(kind, callee), unroll: 10 }),
    ),
    plain('CALL of no account', { body: callOf('CALL', absent), unroll: 10 }),
  ]
}

function callOf(kind: string, to: Address): string {
  const value = kind === 'CALL' ? 'PUSH0' : ''
  return `32 64 32 96 ${value} ${bytesToHex(to)} GAS ${kind} POP`
}

/** Runtime code of the contract that the calls call: adds 1 to a word. */
export const CALLEE = 'PUSH0 CALLDATALOAD 1 ADD PUSH0 MSTORE 32 PUSH0 RETURN'
