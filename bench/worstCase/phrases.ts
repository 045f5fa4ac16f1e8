import { bytesToHex } from '../../src/primitives/bytes.ts'
import { repeat } from '../code/assemble.ts'
import { type Helper, helper } from './program.ts'
import type { Random } from './random.ts'

/** A few words of a program that leave the stack as high as it was. `#` stands for a label's number. */
export type Phrase = string

const STOPPER = helper(1, 'STOP')
const ADDER = helper(2, 'PUSH0 CALLDATALOAD 1 ADD PUSH0 MSTORE 32 PUSH0 RETURN')
const REVERTER = helper(3, 'PUSH0 PUSH0 REVERT')
export const PHRASE_HELPERS: readonly Helper[] = [STOPPER, ADDER, REVERTER]

/** Items that lie on the stack all the time, below what a phrase puts there. */
const ITEMS = 12
/** Memory that phrases use. */
const MEMORY = 16_384
const SIZES = [0, 1, 31, 32, 33, 64, 136, 200, 1_024, 4_096]
const BINARY = 'ADD MUL SUB DIV SDIV MOD SMOD EXP SIGNEXTEND LT GT SLT SGT EQ AND OR XOR BYTE SHL SHR SAR'.split(' ')
const NOTHING_TAKEN =
  'ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBBASEFEE PC MSIZE GAS PUSH0'.split(
    ' ',
  )
const CALLEES = [...[STOPPER, ADDER, REVERTER].map(({ address }) => bytesToHex(address)), '4', '0xdead']

const KINDS: readonly ((random: Random) => Phrase)[] = [
  (random) => `${item(random)} ${item(random, 1)} ${random.pick(BINARY)} POP`,
  // the result takes the place of an item
  (random) => `${item(random)} ${item(random, 1)} ${random.pick(BINARY)} SWAP${1 + random.below(ITEMS)} POP`,
  (random) =>
    `${item(random)} ${item(random, 1)} ${item(random, 2)} ${random.pick(['ADDMOD', 'MULMOD'])} SWAP${1 + random.below(ITEMS)} POP`,
  (random) => `${item(random)} ${random.pick(['ISZERO', 'NOT', 'CLZ'])} POP`,
  (random) => `${random.pick(NOTHING_TAKEN)} POP`,
  (random) => {
    const count = 1 + random.below(40)
    return `${repeat(number(random), count)} ${repeat('POP', count)}`
  },
  (random) => repeat(`SWAP${1 + random.below(ITEMS - 1)}`, 1 + random.below(8)),
  (random) => repeat('JUMPDEST', 1 + random.below(40)),
  () => '@l# JUMP :l#',
  (random) => `${random.pick(['0', '1'])} @l# JUMPI :l#`,
  (random) => `${random.pick(SIZES)} ${place(random)} KECCAK256 POP`,
  (random) => `${place(random)} MLOAD POP`,
  (random) => `${item(random)} ${place(random)} ${random.pick(['MSTORE', 'MSTORE8'])}`,
  (random) =>
    `${random.pick(SIZES)} ${random.below(1_000)} ${place(random)} ${random.pick(['MCOPY', 'CALLDATACOPY', 'CODECOPY'])}`,
  (random) => `0 0 ${place(random)} RETURNDATACOPY`,
  (random) => `${random.pick(SIZES)} 0 ${place(random)} ${random.pick(CALLEES)} EXTCODECOPY`,
  (random) => `${random.below(64)} ${random.pick(['SLOAD', 'TLOAD', 'CALLDATALOAD', 'BLOBHASH', 'BLOCKHASH'])} POP`,
  (random) => `${item(random)} ${random.below(64)} ${random.pick(['SSTORE', 'TSTORE'])}`,
  (random) => `${random.pick(CALLEES)} ${random.pick(['BALANCE', 'EXTCODESIZE', 'EXTCODEHASH'])} POP`,
  (random) => `${random.pick(SIZES)} 0 LOG0`,
  (random) =>
    `${random.pick(SIZES)} 0 ${random.pick(SIZES)} 0 ${random.pick(CALLEES)} GAS ${random.pick(['STATICCALL', 'DELEGATECALL'])} POP`,
]

export function randomPhrase(random: Random): Phrase {
  return random.pick(KINDS)(random)
}

/** Returns the code that runs before the phrases. */
export function phraseSetup(random: Random): string {
  return `0 ${MEMORY} MSTORE ${Array.from({ length: ITEMS }, () => number(random)).join(' ')}`
}

/** Returns code that copies one of the items, below which `above` more lie. */
function item(random: Random, above = 0): string {
  return `DUP${1 + above + random.below(ITEMS)}`
}

function place(random: Random): number {
  return random.below(MEMORY - 4_096)
}

/** Returns a number of any length, often with long runs of ones or zeros. */
function number(random: Random): string {
  const limbs = 1 + random.below(4)
  const limb = (): string => {
    const kind = random.below(4)
    if (kind === 0) return 'ff'.repeat(8)
    if (kind === 1) return `80${'00'.repeat(7)}`
    return Array.from({ length: 8 }, () => (1 + random.below(255)).toString(16).padStart(2, '0')).join('')
  }
  return `0x${Array.from({ length: limbs }, limb).join('')}`
}
