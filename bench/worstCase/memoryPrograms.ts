import { bytesToHex } from '../../src/primitives/bytes.ts'
import { repeat } from '../code/assemble.ts'
import { helper, type LoopOptions, loop, type Program } from './program.ts'
import { MAX_CODE } from './testState.ts'

const KB = 1_024
/** As much as fits into a cache, more, and what is bought by half a million gas. */
const SIZES = [0, 1, 32, KB, 32 * KB, 512 * KB]
/** Memory that 2,200,000 gas buy. */
const LARGE = 1_024 * KB
const WORD = `0x${'f3'.repeat(32)}`
const BEYOND = `0x${'ff'.repeat(32)}`

const RETURNER = helper(1, `${512 * KB} PUSH0 RETURN`)
const CODE = helper(2, new Uint8Array(MAX_CODE).fill(0x5b))
const CALL_RETURNER = `0 0 0 0 ${bytesToHex(RETURNER.address)} GAS STATICCALL POP`

/** Touches memory up to `bytes`. */
function grow(bytes: number): string {
  return `0 ${bytes - 32} MSTORE`
}

/** Returns one program for each size. */
function ofSizes(name: string, body: (bytes: number) => string, setup: string, helpers: Program['helpers'] = []) {
  return SIZES.map((bytes) => {
    // one copy of the larger sizes takes thousands of gas
    const options: LoopOptions = { setup, unroll: bytes > KB ? 4 : 64 }
    return loop(`${name} of ${bytes} bytes`, body(bytes), { ...options, helpers })
  })
}

/** Opcodes that read, write and copy memory. */
export function memoryPrograms(): Program[] {
  return [
    loop('MLOAD', '64 MLOAD POP', { setup: grow(4 * KB) }),
    loop('MLOAD, unaligned', '45 MLOAD POP', { setup: grow(4 * KB) }),
    loop('MLOAD, chained', 'MLOAD', { setup: `${grow(4 * KB)} 64` }),
    loop('MSTORE', 'DUP1 64 MSTORE', { setup: `${grow(4 * KB)} ${WORD}` }),
    loop('MSTORE, unaligned', 'DUP1 45 MSTORE', { setup: `${grow(4 * KB)} ${WORD}` }),
    loop('MSTORE8', 'DUP1 45 MSTORE8', { setup: `${grow(4 * KB)} 77` }),
    // a page and a line further each time
    loop('MLOAD all over 1 MB', '4160 ADD DUP1 0x0fffff AND MLOAD POP', { setup: `${grow(LARGE + 64)} 0` }),
    loop('MSTORE all over 1 MB', '4160 ADD DUP1 DUP1 0x0fffff AND MSTORE', { setup: `${grow(LARGE + 64)} 0` }),
    loop('memory grown word by word', 'MSIZE MLOAD POP'),
    ...ofSizes('KECCAK256', (bytes) => `${bytes} 0 KECCAK256 POP`, grow(512 * KB)),
    loop('KECCAK256 of 136 bytes', '136 0 KECCAK256 POP', { setup: grow(KB) }),
    ...ofSizes('MCOPY', (bytes) => `${bytes} 0 ${LARGE / 2} MCOPY`, grow(LARGE)),
    ...ofSizes('overlapping MCOPY', (bytes) => `${bytes} 0 1 MCOPY`, grow(LARGE)),
    ...ofSizes('CALLDATACOPY', (bytes) => `${bytes} 0 0 CALLDATACOPY`, grow(512 * KB)),
    ...ofSizes('CALLDATACOPY from beyond', (bytes) => `${bytes} ${BEYOND} 0 CALLDATACOPY`, grow(512 * KB)),
    ...ofSizes('CODECOPY', (bytes) => `${bytes} 0 0 CODECOPY`, grow(512 * KB)),
    ...ofSizes('RETURNDATACOPY', (bytes) => `${bytes} 0 0 RETURNDATACOPY`, `${grow(512 * KB)} ${CALL_RETURNER}`, [
      RETURNER,
    ]),
    ...ofSizes('EXTCODECOPY', (bytes) => `${bytes} 0 0 ${bytesToHex(CODE.address)} EXTCODECOPY`, grow(512 * KB), [
      CODE,
    ]),
    loop('CALLDATALOAD', '0 CALLDATALOAD POP'),
    loop('CALLDATALOAD from beyond', `${BEYOND} CALLDATALOAD POP`),
    ...[0, 1, 2, 3, 4].flatMap((topics) =>
      [0, 32, KB].map((bytes) =>
        loop(`LOG${topics} of ${bytes} bytes`, `${repeat('0x77', topics)} ${bytes} 0 LOG${topics}`, {
          setup: grow(KB),
          unroll: 8,
          reserve: 300_000,
        }),
      ),
    ),
    loop('LOG4 of 0 bytes, new topics', '1 ADD DUP1 DUP1 NOT DUP2 0x1234567890 MUL DUP1 NOT 0 0 LOG4', {
      setup: '0 CALLDATALOAD',
      unroll: 8,
      reserve: 300_000,
    }),
  ]
}
