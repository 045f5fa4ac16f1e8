import { loop, type Program } from './program.ts'
import { ACCOUNT_FACTOR, SLOT_FACTOR } from './testState.ts'

/** Nothing is at these indexes. */
const ABSENT = '0xffffffffffff'
const FIRST = '0 CALLDATALOAD'
/** Gas that is left for the refund-free end of a loop that writes. */
const RESERVE = 300_000
const UNROLL = 8

/** Opcodes that read and write accounts, slots and transient storage. */
export function statePrograms(): Program[] {
  const each = (name: string, body: string, first = FIRST): Program =>
    loop(name, `1 ADD ${body}`, { setup: first, unroll: UNROLL })
  const writes = (name: string, body: string, first = FIRST): Program[] => [
    loop(name, `1 ADD ${body}`, { setup: first, unroll: UNROLL, reserve: RESERVE }),
    each(`${name}, undone at the end`, body, first),
  ]
  const absent = `${FIRST} ${ABSENT} ADD`
  const among1024 = (access: string): string => `DUP1 1023 AND ${SLOT_FACTOR} MUL ${access}`
  return [
    ...['BALANCE', 'EXTCODESIZE', 'EXTCODEHASH'].flatMap((name) => [
      loop(`${name}, warm`, `ADDRESS ${name} POP`),
      each(`${name}, cold`, `DUP1 ${ACCOUNT_FACTOR} MUL ${name} POP`),
      each(`${name}, cold, of an absent account`, `DUP1 ${ACCOUNT_FACTOR} MUL ${name} POP`, absent),
    ]),
    each('BALANCE, warm, of 1,024 accounts', `DUP1 1023 AND ${ACCOUNT_FACTOR} MUL BALANCE POP`),
    loop('SLOAD, warm', '1 SLOAD POP'),
    each('SLOAD, warm, of 1,024 slots', among1024('SLOAD POP')),
    each('SLOAD, cold', `DUP1 ${SLOT_FACTOR} MUL SLOAD POP`),
    each('SLOAD, cold, of unset slots', `DUP1 ${SLOT_FACTOR} MUL SLOAD POP`, absent),
    ...writes('SSTORE, warm', 'DUP1 1 SSTORE'),
    ...writes('SSTORE, warm, of 1,024 slots', `DUP1 ${among1024('SSTORE')}`),
    each('SSTORE, warm, of the same value', '7 1 SSTORE'),
    each('SSTORE, cold, of the same value', `1 DUP2 ${SLOT_FACTOR} MUL SSTORE`),
    ...writes('SSTORE, cold', `DUP1 DUP2 ${SLOT_FACTOR} MUL SSTORE`),
    ...writes('SSTORE of new slots', `DUP1 DUP2 ${SLOT_FACTOR} MUL SSTORE`, absent),
    ...writes('SSTORE that clears', `0 DUP2 ${SLOT_FACTOR} MUL SSTORE`),
    ...writes('SSTORE of new slots that clears them', `DUP1 ${SLOT_FACTOR} MUL 1 DUP2 SSTORE 0 SWAP1 SSTORE`, absent),
    loop('TLOAD', '1 TLOAD POP'),
    loop('TSTORE', '2 1 TSTORE'),
    each('TLOAD of different slots', `DUP1 ${SLOT_FACTOR} MUL TLOAD POP`),
    each('TSTORE of different slots', `1 DUP2 ${SLOT_FACTOR} MUL TSTORE`),
    each('TSTORE of 1,024 slots', `DUP1 ${among1024('TSTORE')}`),
  ]
}
