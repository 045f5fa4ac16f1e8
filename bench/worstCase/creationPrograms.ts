import { bytesToHex } from '../../src/primitives/bytes.ts'
import { assemble } from '../code/assemble.ts'
import { helper, loop, type Program } from './program.ts'
import { MAX_CODE } from './testState.ts'

/** EIP-3860. */
const MAX_INIT_CODE = 49_152
const RESERVE = 500_000

/** Init code of maximal size: each stops at once, so that what counts is the analysis. */
const PATTERNS: readonly (readonly [string, string])[] = [
  ['JUMPDEST', '5b'],
  ['PUSH1 JUMPDEST', '605b'],
  ['JUMPDEST PUSH1', '5b60'],
  ['PUSH32', '7f'],
  ['JUMPDEST JUMP', '5b56'],
  ['GAS', '5a'],
  ['STOP', '00'],
]

/** Writes init code of {@link MAX_INIT_CODE} bytes to memory from the code of a helper, twice as long as code may be. */
function initCode(pattern: string): Uint8Array {
  const code = Buffer.alloc(MAX_INIT_CODE, Buffer.from(pattern, 'hex'))
  code[0] = 0
  return code
}

/** Returns programs of creations, with init code that is costly to analyse, and of self-destructs. */
export function creationPrograms(): Program[] {
  const destroyer = helper(1, 'ADDRESS SELFDESTRUCT')
  const giver = helper(2, 'CALLER SELFDESTRUCT')
  const returnsMaximum = assemble(`${MAX_CODE} PUSH0 RETURN`)
  return [
    ...PATTERNS.flatMap(([name, pattern]) => {
      const source = helper(3, initCode(pattern))
      const setup = `${MAX_INIT_CODE} 0 0 ${bytesToHex(source.address)} EXTCODECOPY 0 CALLDATALOAD`
      // the last word differs each time, so that no analysis is known
      const change = `1 ADD DUP1 ${MAX_INIT_CODE - 32} MSTORE`
      const options = { setup, helpers: [source], unroll: 4 }
      return [
        loop(`CREATE, 48 KB of ${name}`, `${change} ${MAX_INIT_CODE} 0 0 CREATE POP`, options),
        loop(`CREATE2, 48 KB of ${name}`, `${change} DUP1 ${MAX_INIT_CODE} 0 0 CREATE2 POP`, options),
      ]
    }),
    loop('CREATE of nothing', '0 0 0 CREATE POP', { unroll: 4 }),
    loop('CREATE of nothing, retained', '0 0 0 CREATE POP', { unroll: 4, reserve: RESERVE }),
    loop('CREATE2 of nothing', '1 ADD DUP1 0 0 0 CREATE2 POP', { setup: '0 CALLDATALOAD', unroll: 4 }),
    loop('CREATE of 24 KB, retained', `${returnsMaximum.length} ${32 - returnsMaximum.length} 0 CREATE POP`, {
      setup: `${bytesToHex(returnsMaximum)} 0 MSTORE`,
      unroll: 1,
      reserve: 7_000_000,
    }),
    loop('CREATE that destroys itself', '2 30 0 CREATE POP', { setup: '0x30ff 0 MSTORE', unroll: 4 }),
    loop('SELFDESTRUCT to itself', `0 0 0 0 0 ${bytesToHex(destroyer.address)} GAS CALL POP`, {
      helpers: [destroyer],
      unroll: 4,
      reserve: RESERVE,
    }),
    loop('SELFDESTRUCT to the caller', `0 0 0 0 0 ${bytesToHex(giver.address)} GAS CALL POP`, {
      helpers: [giver],
      unroll: 4,
      reserve: RESERVE,
    }),
  ]
}
