import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type CompileLimits, compile } from '../../../../explorer/verify/compile.ts'
import { INSTALLED_COMPILER, openCompilers } from '../../../../explorer/verify/compilers.ts'
import { readStandardJson } from '../../../../explorer/verify/standardJson.ts'
import { PROPERTY_RUNS } from '../../../propertyRuns.ts'

const LIMITS: CompileLimits = { timeMs: 60_000, memoryMib: 512, outputBytes: 16 * 1024 * 1024 }
/** Tests that start solc are for the long run. */
const isLong = PROPERTY_RUNS > 1

let solc: Uint8Array
beforeAll(async () => {
  const compilers = await openCompilers({ list: undefined, cache: tmpdir(), mirror: undefined })
  solc = await compilers.load(INSTALLED_COMPILER.version)
})

const run = (sources: Record<string, string>, limits: Partial<CompileLimits> = {}, settings = {}) =>
  compile(
    solc,
    readStandardJson({
      language: 'Solidity',
      sources: Object.fromEntries(Object.entries(sources).map(([path, content]) => [path, { content }])),
      settings,
    }),
    undefined,
    { ...LIMITS, ...limits },
  )

describe('a compiler has nothing but what it is given', () => {
  /** In place of solc, JavaScript that tells what it sees. */
  const see = async (expression: string): Promise<string> => {
    const program = `var Module = {
      _malloc: () => 0, stringToUTF8() {}, lengthBytesUTF8: () => 0,
      cwrap: () => () => JSON.stringify({ errors: [{ severity: 'error', message: String(${expression}) }] }),
    }`
    return compile(
      Buffer.from(program),
      readStandardJson({ language: 'Yul', sources: { a: { content: '' } } }),
      undefined,
      LIMITS,
    ).then(
      () => 'nothing',
      (error: Error) => error.message,
    )
  }

  it('no Node.js, no network, no way to it through what it is given', async () => {
    const names = ['process', 'require', 'fetch', 'WebSocket', 'Buffer', 'setTimeout', 'module', 'XMLHttpRequest']
    const ways = ['this.constructor.constructor', 'input.constructor.constructor', 'globalThis.constructor.constructor']
    const escapes = ways.map((way) => `${way}('return typeof process')()`)
    expect(await see(`[${names.map((name) => `typeof ${name}`)}, ${escapes}]`)).toBe(
      [...names, ...ways].map(() => 'undefined').join(),
    )
  })

  it.runIf(isLong)('no file of the machine: an import is one of the sources or an error', async () => {
    const file = join(tmpdir(), `secret-${process.pid}.sol`)
    writeFileSync(file, 'contract Secret {}')
    try {
      for (const path of [file, `file://${file}`, `../../../../../../..${file}`, './b.sol']) {
        await expect(run({ 'a.sol': `import ${JSON.stringify(path)};` })).rejects.toThrow('not found')
      }
      expect(await run({ [file]: 'contract A {}', '../../x': 'contract B {}' })).toHaveLength(2)
      expect(existsSync(file)).toBe(true)
    } finally {
      rmSync(file)
    }
  })
})

describe.runIf(isLong)('a compilation ends', () => {
  it('when it takes too long', async () => {
    const loops = 'for (uint i = 0; i < x; i++) { if (x > 3) { x += x * x; } }'.repeat(3_000)
    const bomb = { 'a.sol': `contract A { uint x; function f() public { ${loops} } }` }
    const settings = { viaIR: true, optimizer: { enabled: true } }
    await expect(run(bomb, { timeMs: 2_000 }, settings)).rejects.toThrow('takes longer than 2 s')
  })

  it('when it takes too much memory', async () => {
    const structs = Array.from({ length: 25 }, (_, at) =>
      at === 0 ? 'struct S0 { uint a; }' : `struct S${at} { S${at - 1} a; S${at - 1} b; }`,
    )
    const bomb = {
      'a.sol': `contract A { ${structs.join(' ')} S24 x; function f() public returns (S24 memory) { return x; } }`,
    }
    await expect(run(bomb, { memoryMib: 128 }, { viaIR: true })).rejects.toThrow('memory')
  })

  it('when its answer is too long', async () => {
    const children = Array.from({ length: 50 }, (_, at) => `contract C${at} is A { uint y${at}; }`)
    const bomb = {
      'a.sol': `contract A { bytes constant x = hex"${'ab'.repeat(20_000)}"; function f() public pure returns (bytes memory) { return x; } } ${children.join(' ')}`,
    }
    await expect(run(bomb, { outputBytes: 1024 * 1024 })).rejects.toThrow('more than 1048576 bytes')
  })

  it('when sources are nested too deeply', async () => {
    const bomb = `contract A { uint x = ${'('.repeat(100_000)}1${')'.repeat(100_000)}; }`
    await expect(run({ 'a.sol': bomb })).rejects.toThrow('nested')
  })

  it('when the explorer is stopped', async () => {
    const stop = new AbortController()
    const input = readStandardJson({ language: 'Solidity', sources: { a: { content: 'contract A {}' } } })
    const compiled = compile(solc, input, undefined, LIMITS, stop.signal)
    stop.abort()
    await expect(compiled).rejects.toThrow('stopped')
  })
})

describe('standard JSON', () => {
  const sources = { 'a.sol': { content: 'contract A {}' } }
  const deep = (depth: number): unknown => (depth === 0 ? 1 : { a: deep(depth - 1) })

  it.each([
    [null, 'standard JSON'],
    [[], 'standard JSON'],
    [{ language: 'Vyper', sources }, 'language must be Solidity or Yul'],
    [{ language: 'Solidity' }, 'sources must be an object'],
    [{ language: 'Solidity', sources: [] }, 'sources must be an object'],
    [{ language: 'Solidity', sources: {} }, 'sources must not be empty'],
    [{ language: 'Solidity', sources: { a: { urls: ['file:///etc/passwd'] } } }, 'must have its text'],
    [{ language: 'Solidity', sources: { a: { content: 'a\ud800' } } }, 'must have its text'],
    [{ language: 'Solidity', sources: { '\udc00': { content: '' } } }, 'the name of a source'],
    [{ language: 'Solidity', sources: { 'a\0': { content: '' } } }, 'the name of a source'],
    [{ language: 'Solidity', sources: { ['a'.repeat(1_001)]: { content: '' } } }, 'the name of a source'],
    [{ language: 'Solidity', sources, settings: [] }, 'settings must be an object'],
    [{ language: 'Solidity', sources, settings: deep(9) }, 'settings must be an object'],
  ])('refuses %j', (value, reason) => {
    expect(() => readStandardJson(value)).toThrow(reason)
  })

  it('refuses 10,000 sources, and settings that are nested as deeply as JSON can be', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`${at}.sol`, { content: '' }]))
    expect(() => readStandardJson({ language: 'Solidity', sources: many })).toThrow('more than 5000 sources')
    const settings = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)
    expect(() => readStandardJson({ language: 'Solidity', sources, settings })).toThrow('settings')
  })

  it('keeps sources of every name', () => {
    const text = '{"language":"Solidity","sources":{"__proto__":{"content":"a"},"../../etc/passwd":{"content":"b"}}}'
    const { sources: kept } = readStandardJson(JSON.parse(text))
    expect(Object.entries(kept)).toEqual([
      ['__proto__', { content: 'a' }],
      ['../../etc/passwd', { content: 'b' }],
    ])
  })
})
