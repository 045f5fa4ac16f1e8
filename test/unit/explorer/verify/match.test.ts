import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type CompiledCode,
  type CompiledContract,
  compile,
  type NamedContract,
} from '../../../../explorer/verify/compile.ts'
import { INSTALLED_COMPILER, openCompilers } from '../../../../explorer/verify/compilers.ts'
import { matchCreation, matchRuntime } from '../../../../explorer/verify/matchCode.ts'
import { readStandardJson, type StandardJson, withOtherMetadata } from '../../../../explorer/verify/standardJson.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'

/* Codes of the chain are made from those that solc gives, by putting in what a deployment does. */

const CACHE = fileURLToPath(new URL('../../../../node_modules/.cache/coind-contracts', import.meta.url))
const LIMITS = { timeMs: 60_000, memoryMib: 512, outputBytes: 16 * 1024 * 1024 }
const SOURCE = `
library Sum { function add(uint x) public pure returns (uint) { return x + 1; } }
interface Nothing { function nothing() external; }
contract Child { uint public y = 7; }
contract Vault {
  uint public immutable limit; address public immutable owner; Child public child;
  bytes public data = hex"${'ab'.repeat(40)}";
  constructor(uint limit_, string memory) { limit = limit_; owner = msg.sender; child = new Child(); }
  function renew() public returns (uint) { child = new Child(); return Sum.add(limit) + limit; }
}`
const input = readStandardJson({
  language: 'Solidity',
  sources: { 'Vault.sol': { content: SOURCE } },
  settings: { optimizer: { enabled: true } },
})
const ADDRESS = hexToBytes(`0x${'c0'.repeat(20)}`)
const SUM = '5a'.repeat(20)
const ARGUMENTS = `${'07'.padStart(64, '0')}${'40'.padStart(64, '0')}${'0'.repeat(64)}`

/** Bytes of the map with the hash, and of its length. */
const METADATA = 53

let compiled: readonly NamedContract[]
let changed: readonly NamedContract[]

beforeAll(async () => {
  const compilers = await openCompilers({ list: undefined, cache: '/nonexistent', mirror: undefined })
  const solc = await compilers.load(INSTALLED_COMPILER.version)
  compiled = await compileOnce(solc, input)
  changed = await compileOnce(solc, withOtherMetadata(input))
})

/** What solc makes of it, kept for the next run as contracts/compile.ts keeps what it compiles: solc takes a second. */
async function compileOnce(solc: Uint8Array, source: StandardJson): Promise<readonly NamedContract[]> {
  const key = createHash('sha256')
    .update(JSON.stringify([INSTALLED_COMPILER.sha256, source]))
    .digest('hex')
  const path = join(CACHE, `match-${key}.json`)
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as NamedContract[]
  const made = await compile(solc, source, undefined, LIMITS)
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(`${path}.${process.pid}`, JSON.stringify(made))
  renameSync(`${path}.${process.pid}`, path)
  return made
}

const named = (of: readonly NamedContract[], name: string): CompiledContract =>
  of.find((own) => own.name === name)!.contract

/** Libraries linked, and immutable variables set. */
function deployed(code: CompiledCode, { library = SUM, immutable = '11'.repeat(32) } = {}): Uint8Array {
  const bytes = hexToBytes(code.object.replaceAll(/__\$[0-9a-f]{34}\$__/g, library))
  for (const { start } of Object.values(code.immutableReferences ?? {}).flat()) bytes.set(hexToBytes(immutable), start)
  return bytes
}

function runtime(onchain: Uint8Array, name = 'Vault') {
  return matchRuntime({
    address: ADDRESS,
    onchain,
    compiled: named(compiled, name).evm.deployedBytecode,
    changed: async () => named(changed, name).evm.deployedBytecode,
  })
}

function creation(onchain: Uint8Array, name = 'Vault') {
  const { abi, evm } = named(compiled, name)
  return matchCreation({
    onchain,
    abi,
    compiled: evm.bytecode,
    runtime: evm.deployedBytecode,
    changed: async () => named(changed, name).evm.bytecode,
  })
}

/** The code with one bit changed at a place. */
function broken(code: Uint8Array, at: number): Uint8Array {
  const own = code.slice()
  own[at]! ^= 1
  return own
}

describe('the code of a contract', () => {
  const own = () => named(compiled, 'Vault').evm.deployedBytecode

  it('is an exact match with its metadata; libraries and immutable variables are found in it', async () => {
    const match = await runtime(deployed(own()))
    expect(match?.match).toBe('exact_match')
    expect(match?.transformationValues.libraries).toEqual({ 'Vault.sol:Sum': `0x${SUM}` })
    const ids = Object.keys(own().immutableReferences!)
    expect(ids).toHaveLength(2)
    expect(match?.transformationValues.immutables).toEqual(
      Object.fromEntries(ids.map((id) => [id, `0x${'11'.repeat(32)}`])),
    )
    const replaced = match!.transformations.filter(({ reason }) => reason === 'immutable')
    expect(replaced).toHaveLength(Object.values(own().immutableReferences!).flat().length)
  })

  it('is a partial match with other metadata, of itself and of contracts that it creates', async () => {
    const match = await runtime(deployed(named(changed, 'Vault').evm.deployedBytecode))
    expect(match?.match).toBe('match')
    expect(Object.keys(match!.transformationValues.cborAuxdata!)).toHaveLength(2)
  })

  it('is a partial match without metadata, which is nothing to tell sources apart by', async () => {
    const { object } = named(compiled, 'Child').evm.deployedBytecode
    const bare = { object: object.slice(0, -METADATA * 2) }
    const compared = { address: ADDRESS, compiled: bare, changed: async () => bare }
    expect((await matchRuntime({ ...compared, onchain: hexToBytes(bare.object) }))?.match).toBe('match')
    expect(await matchRuntime({ ...compared, onchain: hexToBytes(object) })).toBeUndefined()
    expect(await runtime(hexToBytes(bare.object), 'Child')).toBeUndefined()
  })

  it('is none when any byte of it differs, but for hash values', async () => {
    const code = deployed(own())
    const hashes = code.length - 2 * METADATA
    const free = new Set(Object.values(own().immutableReferences!).flat().flatMap(places))
    const linked = new Set(
      Object.values(own().linkReferences!)
        .flatMap((all) => Object.values(all).flat())
        .flatMap(places),
    )
    for (let at = 0; at < code.length; at += 7) {
      const match = (await runtime(broken(code, at)))?.match
      const isHash = at >= hashes && match === 'match'
      const isOpen = free.has(at) || linked.has(at)
      if (!isHash && !isOpen) expect(match, `byte ${at}`).toBeUndefined()
    }
    expect(await runtime(code.subarray(1))).toBeUndefined()
    expect(await runtime(new Uint8Array())).toBeUndefined()
  })

  it('is none when one immutable variable has two values, or one library two addresses', async () => {
    const [places] = Object.values(own().immutableReferences!).filter((all) => all.length > 1)
    expect(await runtime(broken(deployed(own()), places![0]!.start))).toBeUndefined()
  })

  it('of a library begins with its own address', async () => {
    const { object } = named(compiled, 'Sum').evm.deployedBytecode
    const code = hexToBytes(object)
    expect(await runtime(code, 'Sum')).toBeUndefined()
    code.set(ADDRESS, 1)
    const match = await runtime(code, 'Sum')
    expect(match).toMatchObject({
      match: 'exact_match',
      transformationValues: { callProtection: `0x${'c0'.repeat(20)}` },
    })
  })

  it('is none of an interface, which has no code', async () => {
    expect(await runtime(new Uint8Array(), 'Nothing')).toBeUndefined()
    expect(await creation(new Uint8Array(), 'Nothing')).toBeUndefined()
  })
})

describe('the code that created a contract', () => {
  const code = (from = compiled) => deployed(named(from, 'Vault').evm.bytecode)
  const withArguments = (bytes: Uint8Array, args = ARGUMENTS) => Buffer.concat([bytes, Buffer.from(args, 'hex')])

  it('has the arguments of the constructor behind it', async () => {
    const match = await creation(withArguments(code()))
    expect(match).toMatchObject({
      match: 'exact_match',
      transformationValues: { constructorArguments: `0x${ARGUMENTS}` },
    })
    expect(match!.transformations.at(-1)).toEqual({
      type: 'insert',
      reason: 'constructorArguments',
      offset: code().length,
    })
  })

  it('is a partial match with other metadata', async () => {
    const match = await creation(withArguments(code(changed)))
    expect(match).toMatchObject({ match: 'match', transformationValues: { constructorArguments: `0x${ARGUMENTS}` } })
  })

  it('is none with too few arguments, or with some where the constructor takes none', async () => {
    expect(await creation(code())).toBeUndefined()
    expect(await creation(withArguments(code(), '00'.repeat(63)))).toBeUndefined()
    const child = deployed(named(compiled, 'Child').evm.bytecode)
    expect((await creation(child, 'Child'))?.match).toBe('exact_match')
    expect(await creation(withArguments(child), 'Child')).toBeUndefined()
  })

  it('is none when it is cut off', async () => {
    expect(await creation(code().subarray(0, -1))).toBeUndefined()
  })
})

it('leaves metadata that the contract has as its own constants', async () => {
  // The code is the same but for a constant that looks like metadata: that is no other hash, it is another contract.
  const { object } = named(compiled, 'Child').evm.deployedBytecode
  const code = hexToBytes(object)
  const onchain = code.slice()
  onchain[code.length - 30]! ^= 1
  const same = { onchain, address: ADDRESS, compiled: { object } }
  expect(await matchRuntime({ ...same, changed: async () => ({ object }) })).toBeUndefined()
})

function places({ start, length }: { readonly start: number; readonly length: number }): readonly number[] {
  return Array.from({ length }, (_, at) => start + at)
}
