import { assemble, repeat } from '../code/assemble.ts'
import { endless, loop, type Program } from './program.ts'
import { MAX_CODE } from './testState.ts'

/** Numbers with all limbs set. */
const A = `0x${'f3a5c17b9d2e4806'.repeat(4)}`
/** Odd, because powers of even numbers become 0. */
const ODD = `0x${'f3a5c17b9d2e4807'.repeat(4)}`
const ONES = `0x${'ff'.repeat(32)}`
/** Divisors of 64, 128, 192 and 256 bits whose estimate of a digit must be corrected. */
const DIVISORS = [
  ['64 bits', `0x${'80000000ffffffff'}`],
  ['128 bits', `0x8000000000000000${'ff'.repeat(8)}`],
  ['192 bits', `0x8000000000000000${'ff'.repeat(16)}`],
  ['256 bits', `0x7000000000000000${'ff'.repeat(24)}`],
] as const

/** Opcodes that take two numbers and give one. */
const BINARY = 'ADD MUL SUB LT GT SLT SGT EQ AND OR XOR BYTE SIGNEXTEND DIV SDIV MOD SMOD SHL SHR SAR'.split(' ')
/** Shifts and positions whose work is largest. */
const FIRST_OPERAND: Readonly<Record<string, string>> = {
  BYTE: '17',
  SIGNEXTEND: '17',
  SHL: '131',
  SHR: '131',
  SAR: '131',
}
const NOTHING_TAKEN =
  'ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBBASEFEE PC MSIZE GAS PUSH0'.split(
    ' ',
  )
/** Items that a run of pushes leaves before it takes them off again. */
const DEEP = 1_000

/** Opcodes that read and write nothing but the stack. */
export function opcodePrograms(): Program[] {
  return [
    ...BINARY.map((name) => loop(name, `DUP2 DUP2 ${name} POP`, { setup: `${A} ${FIRST_OPERAND[name] ?? ONES}` })),
    ...BINARY.map((name) =>
      loop(`${name}, chained`, `DUP2 SWAP1 ${name}`, { setup: `${A} ${FIRST_OPERAND[name] ?? A}` }),
    ),
    ...['ISZERO', 'NOT', 'CLZ'].map((name) => loop(name, name, { setup: A })),
    ...['DIV', 'SDIV', 'MOD', 'SMOD'].flatMap((name) =>
      DIVISORS.map(([size, divisor]) =>
        loop(`${name} by ${size}`, `DUP2 DUP2 ${name} POP`, { setup: `${divisor} ${A}` }),
      ),
    ),
    ...['ADDMOD', 'MULMOD'].flatMap((name) =>
      DIVISORS.map(([size, divisor]) =>
        loop(`${name} by ${size}`, `DUP3 DUP3 DUP3 ${name} POP`, { setup: `${divisor} ${ONES} ${A}` }),
      ),
    ),
    ...[1, 2, 3, 4, 8, 32].map((bytes) =>
      loop(`EXP, exponent of ${bytes} bytes`, 'DUP2 DUP2 EXP POP', { setup: `0x${'ff'.repeat(bytes)} ${ODD}` }),
    ),
    ...NOTHING_TAKEN.map((name) => loop(name, `${name} POP`)),
    ...NOTHING_TAKEN.map((name) =>
      loop(`${name}, many`, `${repeat(name, DEEP)} ${repeat('POP', DEEP)}`, { unroll: 1 }),
    ),
    loop('BLOBHASH', 'PUSH0 BLOBHASH POP'),
    loop('BLOCKHASH', 'DUP1 NUMBER SUB BLOCKHASH POP', { setup: '200' }),
    loop('BLOCKHASH of different blocks', '1 ADD DUP1 255 AND NUMBER SUB BLOCKHASH POP', { setup: '0' }),
    loop('PUSH32', `${ONES} POP`),
    loop('PUSH32, many', `${repeat(ONES, 700)} ${repeat('POP', 700)}`, { unroll: 1 }),
    loop('PUSH1, many', `${repeat('1', DEEP)} ${repeat('POP', DEEP)}`, { unroll: 1 }),
    loop('DUP16', 'DUP16 POP', { setup: repeat(A, 16) }),
    loop('DUP1, many', `${repeat('DUP1', DEEP)} ${repeat('POP', DEEP)}`, { setup: A, unroll: 1 }),
    loop('SWAP1', 'SWAP1', { setup: `${A} ${ONES}` }),
    loop('SWAP16', 'SWAP16', { setup: repeat(A, 17), unroll: 1_000 }),
    ...jumpPrograms(),
  ]
}

function jumpPrograms(): Program[] {
  return [
    { name: 'JUMPDEST, a whole contract', code: endless('JUMPDEST', { unroll: MAX_CODE - 5 }) },
    loop('JUMP to itself', '', { unroll: 0 }),
    loop('JUMPI not taken', '0 @round JUMPI'),
    { name: 'JUMPI taken', code: assemble(':a 1 @b JUMPI STOP :b 1 @a JUMPI') },
    { name: 'JUMP to and fro over a whole contract', code: scatteredJumps() },
    { name: 'JUMP to places that the stack holds', code: computedJumps() },
    loop('JUMPDEST and PC', 'JUMPDEST PC POP', { unroll: 4_000 }),
    loop('JUMPDEST and POP', 'JUMPDEST DUP1 POP', { setup: '1', unroll: 4_000 }),
  ]
}

/** Returns places of 5 bytes (JUMPDEST PUSH2 JUMP): each jumps to one far away, so that all are visited. */
function scatteredJumps(): Uint8Array {
  const places = 4_909
  const stride = 2_371
  const code = new Uint8Array(places * 5)
  const view = new DataView(code.buffer)
  for (let place = 0; place < places; place++) {
    code[place * 5] = 0x5b
    code[place * 5 + 1] = 0x61
    view.setUint16(place * 5 + 2, ((place + stride) % places) * 5)
    code[place * 5 + 4] = 0x56
  }
  return code
}

/** Returns a jump table: the next of 4,096 places is computed, in an order that nothing predicts. */
function computedJumps(): Uint8Array {
  const places = `:table @next JUMP ${repeat('JUMPDEST @next JUMP', 4_095)}`
  return assemble(`0 :next 5 MUL 7 ADD 4095 AND DUP1 5 MUL @table ADD JUMP ${places}`)
}
