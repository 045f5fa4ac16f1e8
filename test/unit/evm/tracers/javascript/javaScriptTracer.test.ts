import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openScripts } from '../../../../../src/evm/tracers/javascript/javaScriptTracer.ts'
import type { ScriptTimer } from '../../../../../src/evm/tracers/javascript/quickJs.ts'
import { TraceBudget, type TraceContext, TraceError } from '../../../../../src/evm/tracers/traceCollector.ts'
import { Journal } from '../../../../../src/state/journal.ts'
import { PROPERTY_RUNS } from '../../../../propertyRuns.ts'
import { COINBASE, CONTRACT, SENDER, stateWith } from '../../../../support/evm/evmFixture.ts'
import { productionEngine } from '../../../../support/evm/productionEngine.ts'
import { expectedOf, traceCase, type VectorFile } from '../../../../support/evm/tracers/gethCase.ts'

/**
 * Random transactions with what scripts gave in geth 1.17.10 that ask for everything there is, at each step and call. Left out are those in
 * which an opcode is too dear or a creation fails for its code: there geth shows another price, and the code.
 */
const vectors: VectorFile = JSON.parse(
  brotliDecompressSync(
    readFileSync(new URL('../../../../support/evm/tracers/vectors/scripts.json.br', import.meta.url)),
  ).toString('utf8'),
)

/** `expectedOf` for texts that the script has put elsewhere. */
function withOurWords(json: unknown): unknown {
  return JSON.parse(
    JSON.stringify(json)
      .replaceAll('"out of gas: write protection"', '"write protection"')
      .replaceAll(/"out of gas: [a-z0-9 ]+"/g, '"out of gas"'),
  )
}

/** A clock on which each look takes 20 ms: nothing depends on the machine's own speed. */
function countingTimer(): ScriptTimer {
  let looks = 0
  return { nowMs: () => 20 * looks++, deadlineMs: 5_000, turns: () => 0 }
}

function contextWith(budget: number): TraceContext {
  return {
    fork: 'osaka',
    blockNumber: 1,
    blockHash: undefined,
    transactionHash: undefined,
    transactionIndex: 0,
    firstLogIndex: 0,
    budget: new TraceBudget(budget),
  }
}

/** The result of a script after a transaction that ran no opcode. */
async function resultOf(code: string, budget = 2_000_000): Promise<unknown> {
  const createScript = await openScripts(countingTimer())
  const { tracer, result } = createScript(code, {}, contextWith(budget))
  const world = new Journal(stateWith('00'))
  tracer.onTransactionStart?.({
    world,
    from: SENDER,
    to: CONTRACT,
    coinbase: COINBASE,
    gasLimit: 50_000n,
    effectiveTip: 1n,
    authorities: [],
  })
  const input = new Uint8Array(4)
  tracer.onEnter?.({ depth: 0, type: 'CALL', from: SENDER, to: CONTRACT, input, gas: 1n, value: 0n, precompile: false })
  tracer.onExit?.({ depth: 0, output: input, gasUsed: 0n, error: undefined, reverted: false })
  return result()
}

/** What a script counts whose transaction makes 60 calls, before each of which others may have had their turn. */
async function countOf(isInTurns: boolean): Promise<unknown> {
  let turns = 0
  const createScript = await openScripts({ ...countingTimer(), deadlineMs: 1e9, turns: () => turns })
  const code = '{ n: 0, fault() {}, enter() { this.n++ }, exit() {}, result() { return this.n } }'
  const { tracer, result } = createScript(code, {}, contextWith(1_000))
  const input = new Uint8Array(4)
  const enter = { type: 'CALL', from: SENDER, to: CONTRACT, input, gas: 1n, value: 0n, precompile: false } as const
  const exit = { output: input, gasUsed: 0n, error: undefined, reverted: false }
  tracer.onEnter?.({ depth: 0, ...enter })
  for (let calls = 0; calls < 60; calls++) {
    if (isInTurns) turns++
    tracer.onEnter?.({ depth: 1, ...enter })
    tracer.onExit?.({ depth: 1, ...exit })
  }
  tracer.onExit?.({ depth: 0, ...exit })
  return result()
}

const script = (members: string): string => `{ fault: function() {}, ${members} }`
const returning = (body: string): string => script(`result: function(ctx, db) { ${body} }`)
/** A script that gets between the sandbox and what it asks for the result's text. */
const inPlaceOfResult = (text: string): string => `(Object.defineProperty(Object.prototype, 'result', {
  set() { Object.defineProperty(this, 'result', { value: () => ${text} }) } }), ${returning('return 1')})`

/** Scripts take long: a fifth hash of the transactions, all in longer runs. */
const CASES = vectors.cases.filter((_, index) => PROPERTY_RUNS > 1 || index % 5 === 0)

describe.each(vectors.tracers)('a script: $name', ({ name, tracer, config }) => {
  it('sees what geth shows it', async () => {
    for (const one of CASES) {
      const trace = await traceCase(productionEngine, one, tracer, config)
      expect(trace, one.name).toEqual(withOurWords(expectedOf(one.traces[name])))
    }
  })
})

describe('a script that fails', () => {
  const IN_RESULT = "    in server-side tracer function 'result'"

  it.each([
    [returning('return toHex(5)'), `invalid buffer type${IN_RESULT}`],
    [returning('try { toHex({}) } catch (e) {} return 5'), `invalid buffer type${IN_RESULT}`],
    [
      returning('return slice([1, 2, 3], 1, 9)'),
      `Tracer accessed out of bound memory: available 3, offset 1, size 8${IN_RESULT}`,
    ],
    [returning("throw 'text'"), `text${IN_RESULT}`],
    [returning("throw new TypeError('no')"), `TypeError: no${IN_RESULT}`],
    [returning('throw 5'), `5${IN_RESULT}`],
    [returning('return nothing.x'), `ReferenceError: 'nothing' is not defined${IN_RESULT}`],
    ['{ result: function() {} }', 'trace object must expose a function fault()'],
    ['{ result: 5, fault: function() {} }', 'trace object must expose a function result()'],
    ['null + []', 'trace object must expose a function result()'],
    [
      script('result: function() {}, enter: function() {}'),
      'trace object must expose either both or none of enter() and exit()',
    ],
    [script("setup: function() { throw new Error('setup') }, result: function() {}"), 'Error: setup'],
    ['{ result: function() {}, fault: function() {', "SyntaxError: unexpected token in expression: ')'"],
  ])('says why: %s', async (code, message) => {
    await expect(resultOf(code)).rejects.toThrow(new TraceError(message))
  })

  it('may give nothing, and what has no JSON', async () => {
    expect(await resultOf(returning('return undefined'))).toEqual({})
    expect(await resultOf(returning('return function() {}'))).toBeNull()
    expect(await resultOf(returning('return [undefined, bigInt(2).pow(100), 1 / 0]'))).toEqual([
      null,
      '1267650600228229401496703205376',
      null,
    ])
  })
})

describe('a hostile script', () => {
  const TIMEOUT = 'execution timeout'
  const MEMORY = 'the tracer used too much memory'
  const DEPTH = /too deep|stack overflow/

  it.each([
    ['an endless loop', returning('for (;;);'), TIMEOUT],
    ['… while it is read', script('x: (function() { for (;;); })(), result: function() {}'), TIMEOUT],
    ['… in setup', script('setup: function() { for (;;); }, result: function() {}'), TIMEOUT],
    ['… in a getter', script('get result() { for (;;); }'), TIMEOUT],
    ['… in toJSON', returning('return { toJSON() { for (;;); } }'), TIMEOUT],
    ['… that catches its end', returning('for (;;) try { for (;;); } catch (e) {}'), TIMEOUT],
    ['… that goes on after it', returning('for (;;) try { for (;;); } finally { continue }'), TIMEOUT],
    ['… in the message of an error', returning('throw { get message() { for (;;); } }'), TIMEOUT],
    ['… of calls of the host', returning('for (;;) try { db.getBalance(ctx.from) } catch (e) {}'), TIMEOUT],
    ['a search in a sparse array', returning('var a = []; a.length = 4294967295; return a.indexOf(1)'), TIMEOUT],
    ['a search in nothing', returning('return [].lastIndexOf.call({ length: 9007199254740991 }, 1)'), TIMEOUT],
    ['a search in a long string', returning('return "a".repeat(2e7).indexOf("a".repeat(1e7) + "b")'), TIMEOUT],
    ['a regular expression', returning('return /^(a+)+$/.test("a".repeat(50) + "!")'), TIMEOUT],
    ['a power', returning('var x = 3n; for (;;) x = x * x'), TIMEOUT],
    ['copies', returning('var b = new Uint8Array(3e7); for (;;) b.slice()'), TIMEOUT],
    ['a long string', returning('return "x".repeat(1073741823)'), MEMORY],
    ['buffers', returning('var a = []; for (;;) a.push(new ArrayBuffer(1e7))'), MEMORY],
    ['a deep recursion', returning('function f() { return f() + 1 } return f()'), DEPTH],
    ['a deep answer', returning('var a = []; for (var i = 0; i < 1e5; i++) a = [a]; return a'), DEPTH],
    ['deep code', returning('return eval("(".repeat(1e5) + ")".repeat(1e5))'), DEPTH],
    ['many values', returning('var a = Array(1e3).fill({}); return Array(5e2).fill(a)'), 'response too large'],
    ['a deep text of its own', inPlaceOfResult('"[".repeat(1e5) + "]".repeat(1e5)'), 'nested too deep'],
    ['a text that is no JSON', inPlaceOfResult('"}"'), 'the tracer has no result'],
    ['a long answer', returning('return "x".repeat(3e6)'), 'response too large'],
  ])('meets a limit: %s', async (_, code, message) => {
    await expect(resultOf(code)).rejects.toThrow(message)
  })

  it('lets others have their turn: many short calls together take no more than one long', async () => {
    expect(await countOf(true)).toBe(60)
    await expect(countOf(false)).rejects.toThrow('execution timeout')
  })

  it('finds nothing of the host', async () => {
    const code = returning(`
      const names = ['process', 'require', 'fetch', 'WebAssembly', 'std', 'os', 'host', 'setTimeout', 'Atomics', 'module']
      const found = names.filter((name) => name in globalThis)
      const makers = [this.constructor.constructor, toHex.constructor, db.getBalance.constructor, ctx.constructor.constructor]
      return [...found, ...makers.map((make) => make('return typeof process')())]`)
    expect(await resultOf(code)).toEqual(Array(4).fill('undefined'))
  })

  it('breaks prototypes for itself alone', async () => {
    const code = returning(`
      Object.prototype.toJSON = function() { return { polluted: true } }
      Function.prototype.call = Array.prototype.map = JSON.stringify = undefined
      return { ['__proto__']: { polluted: true } }`)
    expect(await resultOf(code)).toEqual({ polluted: true })
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(await resultOf(returning('return typeof Array.prototype.map'))).toBe('function')
  })

  it('runs no work later', async () => {
    const code = returning('Promise.resolve().then(function() { for (;;); }); import("fs"); return 1')
    expect(await resultOf(code)).toBe(1)
  })
})
