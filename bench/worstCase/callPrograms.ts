import { NATIVE_TOKEN_ADDRESS } from '../../src/chain/genesis/genesisConstants.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { type Helper, helper, loop, type Program } from './program.ts'
import { ACCOUNT_FACTOR, CONTRACT_FACTOR, DELEGATION_FACTOR, SLOT_FACTOR } from './testState.ts'

const KINDS = ['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL'] as const
type Kind = (typeof KINDS)[number]

interface CallParts {
  readonly kind?: Kind
  readonly gas?: string
  readonly value?: number
  readonly input?: number
  readonly output?: number
}

/**
 * Returns the words of a call whose result is dropped; `to` is the word that pushes the address
 * (seven words above where the call began).
 */
function callWords(
  to: string,
  { kind = 'CALL', gas = 'GAS', value = 0, input = 0, output = 0 }: CallParts = {},
): string {
  const hasValue = kind === 'CALL' || kind === 'CALLCODE'
  return `${output} 0 ${input} 0 ${hasValue ? value : ''} ${to} ${gas} ${kind} POP`
}

const LARGE_INPUT = 512 * 1_024
const GROW = `0 ${LARGE_INPUT - 32} MSTORE`
const ABSENT = '0xdead00000000000000000000000000000000dead'

const STOPPER = helper(1, 'STOP')
const REVERTER = helper(2, 'PUSH0 PUSH0 REVERT')
const FAILER = helper(3, 'INVALID')
const SPENDER = helper(4, ':loop @loop JUMP')
const RETURNER = helper(5, '32768 PUSH0 RETURN')
const STORE_AND_REVERT = helper(6, '1 PUSH0 SSTORE PUSH0 PUSH0 REVERT')
/**
 * For a delegated call of a contract that has written the slot before. The write is stored before the call in it, and the frame's failure
 * undoes that, so that accounts and slots are read again.
 */
const STORE_CALL_AND_REVERT = helper(
  7,
  `3 1 SSTORE ${callWords(bytesToHex(STOPPER.address), { gas: '0' })} PUSH0 PUSH0 REVERT`,
)
const textOf = ({ address }: Helper): string => bytesToHex(address)

/** 0x01 to 0x11 and 0x0100. */
const PRECOMPILES = [...Array.from({ length: 17 }, (_, index) => index + 1), 0x100]

/** Calls of every kind, deep stacks of calls, and calls that load much code. */
export function callPrograms(contracts: number): Program[] {
  return [
    ...KINDS.flatMap((kind) => [
      loop(`${kind} of a contract that stops`, callWords(textOf(STOPPER), { kind }), { helpers: [STOPPER] }),
      loop(`${kind} of an absent account`, callWords(ABSENT, { kind })),
      loop(`${kind} of the identity precompile`, callWords('4', { kind })),
      loop(`${kind} of itself, without end`, callWords('ADDRESS', { kind }), { unroll: 1 }),
    ]),
    loop('CALL of itself, growing 1 KB of memory', callWords('ADDRESS'), { setup: '0 992 MSTORE', unroll: 1 }),
    loop('CALL of itself, growing 32 KB of memory', callWords('ADDRESS'), { setup: '0 32736 MSTORE', unroll: 1 }),
    loop('CALL of a contract that reverts', callWords(textOf(REVERTER)), { helpers: [REVERTER] }),
    loop('CALL of a contract that fails', callWords(textOf(FAILER), { gas: '0' }), { helpers: [FAILER] }),
    loop('CALL of a contract that is out of gas at once', callWords(textOf(SPENDER), { gas: '0' }), {
      helpers: [SPENDER],
    }),
    loop('CALL of a contract that returns 32 KB', callWords(textOf(RETURNER)), { helpers: [RETURNER], unroll: 4 }),
    loop('CALL whose storage write is reverted', callWords(textOf(STORE_AND_REVERT)), { helpers: [STORE_AND_REVERT] }),
    ...[0, 64].flatMap((accesses) =>
      [
        ['BALANCE', ACCOUNT_FACTOR],
        ['SLOAD', SLOT_FACTOR],
      ].map(([opcode, factor]) =>
        loop(
          `DELEGATECALL whose storage write is stored and reverted, then ${accesses} times ${opcode}`,
          `${callWords(textOf(STORE_CALL_AND_REVERT), { kind: 'DELEGATECALL' })} ${Array.from({ length: accesses }, (_, index) => `${index + 1} ${factor} MUL ${opcode} POP`).join(' ')}`,
          { setup: '2 1 SSTORE', helpers: [STOPPER, STORE_CALL_AND_REVERT], unroll: 1 },
        ),
      ),
    ),
    loop('CALL with 512 KB of input of a contract', callWords(textOf(STOPPER), { input: LARGE_INPUT }), {
      setup: GROW,
      helpers: [STOPPER],
    }),
    loop('CALL of an absent account with 512 KB of input', callWords(ABSENT, { input: LARGE_INPUT }), { setup: GROW }),
    loop('CALL with room for 512 KB of output', callWords(textOf(STOPPER), { output: LARGE_INPUT }), {
      setup: GROW,
      helpers: [STOPPER],
    }),
    ...PRECOMPILES.map((number) =>
      loop(
        `CALL with 512 KB of input, without gas, of precompile 0x${number.toString(16)}`,
        callWords(String(number), { input: LARGE_INPUT, gas: '0' }),
        { setup: GROW },
      ),
    ),
    ...['0', 'GAS'].map((gas) =>
      loop(
        `CALL with 512 KB of input, ${gas === '0' ? 'without' : 'with'} gas, of the native token`,
        callWords(NATIVE_TOKEN_ADDRESS, { input: LARGE_INPUT, gas }),
        { setup: GROW },
      ),
    ),
    loop('CALL that moves a coin', callWords(ABSENT, { value: 1 }), { unroll: 8, reserve: 500_000 }),
    loop('CALL that moves a coin to a new account', `${callWords('DUP6', { value: 1 })} 1 ADD`, {
      setup: '0 CALLDATALOAD 0xabcdef0000000000000000 ADD',
      unroll: 8,
      reserve: 500_000,
    }),
    loop(
      'CALL that moves a coin to an account, cold',
      `1 ADD ${callWords(`DUP6 ${ACCOUNT_FACTOR} MUL`, { value: 1 })}`,
      {
        setup: '0 CALLDATALOAD',
        unroll: 8,
        reserve: 500_000,
      },
    ),
    ...codeLoads(contracts),
  ]
}

/** Accesses of many large contracts: each for the first time, or a set of them again and again. */
function codeLoads(contracts: number): Program[] {
  const next = '1 ADD'
  const cold = (factor: string) => ({ place: `${factor} MUL`, setup: '0 CALLDATALOAD' })
  /** among a power of two of them */
  const among = (count: number, factor: string) => ({ place: `${count - 1} AND 1 ADD ${factor} MUL`, setup: '0' })
  const many = 2 ** Math.floor(Math.log2(contracts))
  return [
    ['new', cold(CONTRACT_FACTOR)] as const,
    [`${many}`, among(many, CONTRACT_FACTOR)] as const,
    [`${many / 2}`, among(many / 2, CONTRACT_FACTOR)] as const,
    [`${many / 4}`, among(many / 4, CONTRACT_FACTOR)] as const,
  ].flatMap(([which, { place, setup }]) => [
    loop(`CALL of ${which} large contracts`, `${next} ${callWords(`DUP6 ${place}`)}`, { setup }),
    loop(`EXTCODESIZE of ${which} large contracts`, `${next} DUP1 ${place} EXTCODESIZE POP`, { setup }),
    loop(`EXTCODEHASH of ${which} large contracts`, `${next} DUP1 ${place} EXTCODEHASH POP`, { setup }),
    loop(`EXTCODECOPY of a byte of ${which} large contracts`, `${next} 1 0 0 DUP4 ${place} EXTCODECOPY`, { setup }),
    ...[place.replace(CONTRACT_FACTOR, DELEGATION_FACTOR)].map((delegation) =>
      loop(`CALL of ${which} delegations to large contracts`, `${next} ${callWords(`DUP6 ${delegation}`)}`, { setup }),
    ),
  ])
}
