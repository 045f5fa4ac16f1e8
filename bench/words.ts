/**
 * The engine's 256-bit operations and keccak: nanoseconds each, in a loop inside WebAssembly. Every operation runs over a table of
 * random operands (results are not fed back), of the shape that costs most for the divisions. Prints the best of several runs.
 *
 *   node bench/words.ts [name part]
 */
import { compileWords } from '../test/support/assembly/compileWords.ts'

const filter = process.argv[2] ?? ''
const RUNS = 150
/** Sets of operands: 32 KiB, within the first cache, more than a branch predictor learns by heart. */
const SETS = 256
const SET_BYTES = 128
const MILLISECONDS_A_RUN = 0.5

const WORDS =
  'add, sub, mul, and, or, xor, not, lt, gt, slt, sgt, eq, isZero, byte, shl, shr, sar, clz, signExtend'.split(', ')
const UNARY = new Set(['not', 'isZero', 'clz'])
const ASKING = new Set(['lt', 'gt', 'slt', 'sgt', 'eq', 'isZero'])
const DIVISIONS = ['div', 'sdiv', 'mod', 'smod']
const MODULAR = ['addmod', 'mulmod']

function loopOf(name: string): string {
  const operands = UNARY.has(name) ? 'at' : MODULAR.includes(name) ? 'at, at + 32, at + 64' : 'at, at + 32'
  const operation = ASKING.has(name) ? `store<u32>(at, ${name}(${operands}), 96)` : `${name}(${operands}, at + 96)`
  return `export function loop_${name}(rounds: u32, table: usize): void {
    for (; rounds > 0; rounds--) {
      for (let at = table, end = table + ${SETS * SET_BYTES}; at < end; at += ${SET_BYTES}) ${operation}
    }
  }`
}

const { memory, call } = await compileWords(`
import { ${WORDS.join(', ')} } from './word'
import { ${DIVISIONS.join(', ')} } from './division'
import { ${MODULAR.join(', ')} } from './modular'
import { exp } from './exponent'
import { keccak256 } from '../keccak/keccak'
export function room(length: u32): usize { return heap.alloc(length) }
${[...WORDS, ...DIVISIONS, ...MODULAR, 'exp'].map(loopOf).join('\n')}
export function loop_keccak(rounds: u32, table: usize, length: u32, out: usize): void {
  for (; rounds > 0; rounds--) {
    for (let i = 0; i < ${SETS}; i++) keccak256(table + (i << 5), length, out)
  }
}
`)

const table = call('room', SETS * SET_BYTES) >>> 0
const data = call('room', 1 << 20) >>> 0
const out = call('room', 32) >>> 0

type Limbs = readonly [bigint, bigint, bigint, bigint]
let seed = 0x9e3779b97f4a7c15n

function randomLimb(): bigint {
  seed = BigInt.asUintN(64, seed * 6364136223846793005n + 1442695040888963407n)
  return seed ^ (seed >> 29n)
}

/**
 * Returns a random word of exactly `count` limbs whose highest has at least one and at most 63 bits
 * of leading zeros.
 */
function wordOf(count: number): Limbs {
  const limb = (index: number): bigint => {
    if (index >= count) return 0n
    return index === count - 1 ? (randomLimb() >> (1n + (randomLimb() & 15n))) | 1n : randomLimb()
  }
  return [limb(0), limb(1), limb(2), limb(3)]
}

/** A random word of 256 bits, the sign bit unset for signed operations. */
const full = (): Limbs => [randomLimb(), randomLimb(), randomLimb(), (randomLimb() >> 1n) | (1n << 62n)]
const small = (bound: number): Limbs => [randomLimb() % BigInt(bound), 0n, 0n, 0n]

function fill(operands: readonly (() => Limbs)[]): void {
  const view = new DataView(memory.buffer, table, SETS * SET_BYTES)
  for (let set = 0; set < SETS; set++) {
    for (const [slot, operand] of operands.entries()) {
      for (const [limb, value] of operand().entries()) {
        view.setBigUint64(set * SET_BYTES + slot * 32 + limb * 8, value, true)
      }
    }
  }
}

/** Nanoseconds of one of the `SETS` operations of a round: the best run, after calls enough for V8's optimizing compiler. */
function measure(run: (rounds: number) => void): number {
  let rounds = 1
  for (let i = 0; i < 200; i++) run(1)
  for (;;) {
    const start = performance.now()
    run(rounds)
    if (performance.now() - start > MILLISECONDS_A_RUN) break
    rounds *= 2
  }
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < RUNS; i++) {
    const start = performance.now()
    run(rounds)
    best = Math.min(best, performance.now() - start)
  }
  return (best * 1e6) / rounds / SETS
}

function report(name: string, shape: string, run: (rounds: number) => void): void {
  const line = `${name.padEnd(11)} ${shape.padEnd(24)}`
  if (line.includes(filter)) console.log(`${line} ${measure(run).toFixed(1).padStart(9)} ns`)
}

function reportWords(name: string, shape: string, ...operands: (() => Limbs)[]): void {
  fill(operands)
  report(name, shape, (rounds) => call(`loop_${name}`, rounds, table))
}

for (const name of WORDS) {
  if (name === 'byte' || name === 'signExtend') reportWords(name, 'index < 32', () => small(32), full)
  else if (name === 'shl' || name === 'shr' || name === 'sar') {
    reportWords(name, 'by 224', () => [224n, 0n, 0n, 0n], full)
    reportWords(name, 'by 0 … 255', () => small(256), full)
  } else reportWords(name, '256 bits', full, full)
}
for (const name of DIVISIONS) {
  for (let limbs = 1; limbs <= 4; limbs++) reportWords(name, `256 / ${limbs * 64}`, full, () => wordOf(limbs))
}
reportWords(
  'div',
  '64 / 64',
  () => wordOf(1),
  () => wordOf(1),
)
reportWords(
  'div',
  '128 / 64',
  () => wordOf(2),
  () => wordOf(1),
)
reportWords(
  'div',
  '128 / 128',
  () => wordOf(2),
  () => wordOf(2),
)
const all = (): Limbs => [randomLimb(), randomLimb(), randomLimb(), randomLimb() | (1n << 63n)]
for (const name of MODULAR) {
  for (let limbs = 1; limbs <= 4; limbs++) {
    reportWords(name, `${name === 'addmod' ? 257 : 512} % ${limbs * 64}`, all, all, () => wordOf(limbs))
  }
}
for (const limbs of [1, 2, 3, 4]) {
  const divisor = wordOf(limbs)
  const size = `${limbs * 64}, the same one`
  reportWords('div', `256 / ${size}`, full, () => divisor)
  for (const name of MODULAR) reportWords(name, `512 % ${size}`, all, all, () => divisor)
}
reportWords(
  'addmod',
  'operands < modulus',
  () => wordOf(3),
  () => wordOf(3),
  all,
)
reportWords(
  'mulmod',
  '128 × 128 % 256',
  () => wordOf(2),
  () => wordOf(2),
  all,
)
const odd = (): Limbs => [randomLimb() | 1n, randomLimb(), randomLimb(), randomLimb()]
for (const bytes of [3, 4, 32]) {
  const exponent = (): Limbs => (bytes === 32 ? all() : [(1n << BigInt(8 * bytes)) - 1n - small(256)[0], 0n, 0n, 0n])
  reportWords('exp', `${bytes}-byte exponent`, odd, exponent)
}
reportWords('exp', '8-bit exponent', full, () => small(256))
reportWords(
  'exp',
  '10 ^ 18',
  () => [10n, 0n, 0n, 0n],
  () => [18n, 0n, 0n, 0n],
)

const random = new Uint8Array(memory.buffer, data, 1 << 20)
for (let i = 0; i < random.length; i++) random[i] = Number(randomLimb() & 255n)
for (const length of [0, 32, 64, 135, 136, 1_000, 100_000]) {
  report('keccak256', `${length} bytes`, (rounds) => call('loop_keccak', rounds, data, length, out))
}
