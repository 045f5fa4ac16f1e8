import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import type { AbiItem, CodePlace, CompiledCode } from './compile.ts'
import { hasMetadataHash, isMetadataWithLength, metadataPlaces } from './metadata.ts'

/*
 * Whether code on the chain is what solc makes of sources, by Sourcify's rules: https://docs.sourcify.dev/docs/full-vs-partial-match/. What
 * solc cannot know is taken from the chain: addresses of libraries, values of immutable variables, arguments of the constructor.
 */

/** exact_match: with the hash of the metadata, so the sources are the same to the byte. match: the code alone. */
export type Match = 'exact_match' | 'match'

/** Changes that turn the compiled code into the chain's, in Sourcify's form. */
interface Transformation {
  readonly type: 'insert' | 'replace'
  readonly reason: 'constructorArguments' | 'library' | 'immutable' | 'cborAuxdata' | 'callProtection'
  readonly offset: number
  readonly id?: string
}

interface TransformationValues {
  readonly constructorArguments?: string
  readonly callProtection?: string
  readonly libraries?: Readonly<Record<string, string>>
  readonly immutables?: Readonly<Record<string, string>>
  readonly cborAuxdata?: Readonly<Record<string, string>>
}

export interface CodeMatch {
  readonly match: Match
  readonly transformations: readonly Transformation[]
  readonly transformationValues: TransformationValues
}

/** Code on the chain, and solc's output for the sources. */
interface Compared {
  readonly onchain: Uint8Array
  readonly compiled: CompiledCode
  /** the same compiler's output for the sources with other metadata; requested when the bytecode differs */
  readonly changed: () => Promise<CompiledCode | undefined>
}

/** PUSH20, the first instruction of a library: its own address follows, by which it notices direct calls. */
const PUSH20 = 0x73
const ADDRESS_BYTES = 20
/** Fewest bytes of a constructor's argument. */
const WORD = 32

/**
 * Compares the code of a contract.
 * @param address of the contract
 * @returns undefined: they are different
 */
export async function matchRuntime({
  address,
  ...compared
}: Compared & { readonly address: Uint8Array }): Promise<CodeMatch | undefined> {
  const { onchain, compiled } = compared
  // An interface has no code. Long code is not compared: the chain's is short.
  if (onchain.length === 0 || sizeOf(compiled) !== onchain.length) return undefined
  const template = templateOf(compiled)
  const fitted = new Fitting(template, onchain)
  const isLibrary = template[0] === PUSH20 && template.subarray(1, 1 + ADDRESS_BYTES).every((byte) => byte === 0)
  const fits =
    (!isLibrary || fitted.takeCallProtection(address)) &&
    fitted.takeImmutables(compiled.immutableReferences ?? {}) &&
    fitted.takeLibraries(compiled.linkReferences ?? {})
  return fits ? finish(fitted, compared, hasMetadataHash(templateOf(compiled))) : undefined
}

/**
 * Compares the code that created a contract: the compiled one, and behind it the arguments of the constructor.
 * @param runtime what solc made for the contract itself: it ends with the hash, the creation code may have constants at its end
 * @returns undefined: they are different
 */
export async function matchCreation({
  abi,
  runtime,
  ...compared
}: Compared & { readonly abi: readonly AbiItem[]; readonly runtime: CompiledCode }): Promise<CodeMatch | undefined> {
  const { onchain, compiled } = compared
  if (sizeOf(compiled) === 0 || sizeOf(compiled) > onchain.length) return undefined
  const template = templateOf(compiled)
  const fitted = new Fitting(template, onchain.subarray(0, template.length))
  if (!fitted.takeLibraries(compiled.linkReferences ?? {})) return undefined
  const args = onchain.subarray(template.length)
  const inputs = abi.find(({ type }) => type === 'constructor')?.inputs?.length ?? 0
  if (inputs === 0 ? args.length > 0 : args.length < inputs * WORD) return undefined
  const match = await finish(fitted, compared, hasMetadataHash(templateOf(runtime)))
  if (match === undefined || args.length === 0) return match
  return {
    ...match,
    transformations: [
      ...match.transformations,
      { type: 'insert', reason: 'constructorArguments', offset: template.length },
    ],
    transformationValues: { ...match.transformationValues, constructorArguments: bytesToHex(args) },
  }
}

/** Compiled code that takes the bytes of the chain where solc left room for them. */
class Fitting {
  readonly #template: Uint8Array
  readonly #onchain: Uint8Array
  readonly #transformations: Transformation[] = []
  readonly #libraries = new Map<string, string>()
  readonly #immutables = new Map<string, string>()
  readonly #metadata = new Map<string, string>()
  #callProtection: string | undefined

  /** @param template is changed */
  constructor(template: Uint8Array, onchain: Uint8Array) {
    this.#template = template
    this.#onchain = onchain
  }

  get isSame(): boolean {
    return Buffer.compare(this.#template, this.#onchain) === 0
  }

  /** @returns false: the library has another address in its code than its own */
  takeCallProtection(address: Uint8Array): boolean {
    this.#callProtection = this.#take({ start: 1, length: ADDRESS_BYTES })
    this.#transformations.push({ type: 'replace', reason: 'callProtection', offset: 1 })
    return this.#callProtection === bytesToHex(address)
  }

  /** @returns false: one variable has two values */
  takeImmutables(references: NonNullable<CompiledCode['immutableReferences']>): boolean {
    return Object.entries(references).every(([id, places]) => this.#takeAll('immutable', this.#immutables, id, places))
  }

  /** @returns false: one library has two addresses */
  takeLibraries(references: NonNullable<CompiledCode['linkReferences']>): boolean {
    return Object.entries(references).every(([path, libraries]) =>
      Object.entries(libraries).every(([name, places]) =>
        this.#takeAll('library', this.#libraries, `${path}:${name}`, places),
      ),
    )
  }

  /** @returns false: the chain has no metadata in one of these places */
  takeMetadata(places: readonly CodePlace[]): boolean {
    return places.every((place, index) => {
      const { start, length } = place
      if (!isMetadataWithLength(this.#onchain.subarray(start, start + length))) return false
      return this.#takeAll('cborAuxdata', this.#metadata, String(index + 1), [place])
    })
  }

  asMatch(match: Match): CodeMatch {
    return {
      match,
      transformations: this.#transformations,
      transformationValues: {
        ...(this.#callProtection === undefined ? {} : { callProtection: this.#callProtection }),
        ...(this.#libraries.size === 0 ? {} : { libraries: Object.fromEntries(this.#libraries) }),
        ...(this.#immutables.size === 0 ? {} : { immutables: Object.fromEntries(this.#immutables) }),
        ...(this.#metadata.size === 0 ? {} : { cborAuxdata: Object.fromEntries(this.#metadata) }),
      },
    }
  }

  #takeAll(
    reason: 'immutable' | 'library' | 'cborAuxdata',
    values: Map<string, string>,
    id: string,
    places: readonly CodePlace[],
  ): boolean {
    return places.every((place) => {
      const own = this.#take(place)
      this.#transformations.push({ type: 'replace', reason, offset: place.start, id })
      const isFirst = !values.has(id)
      if (isFirst) values.set(id, own)
      return isFirst || values.get(id) === own
    })
  }

  #take({ start, length }: CodePlace): string {
    const own = this.#onchain.subarray(start, start + length)
    this.#template.set(own, start)
    return bytesToHex(own)
  }
}

async function finish(
  fitted: Fitting,
  { compiled, changed }: Compared,
  hasHash: boolean,
): Promise<CodeMatch | undefined> {
  if (fitted.isSame) return fitted.asMatch(hasHash ? 'exact_match' : 'match')
  if (!hasHash) return undefined
  const other = await changed()
  const places = other === undefined ? undefined : metadataPlaces(templateOf(compiled), templateOf(other))
  if (places === undefined || !fitted.takeMetadata(places)) return undefined
  return fitted.isSame ? fitted.asMatch('match') : undefined
}

function sizeOf({ object }: CompiledCode): number {
  return object.length / 2
}

/** The bytes of a code, with zeros where libraries are not linked. */
function templateOf({ object, linkReferences = {} }: CompiledCode): Uint8Array {
  const digits = Buffer.from(object, 'latin1')
  for (const libraries of Object.values(linkReferences)) {
    for (const { start, length } of Object.values(libraries).flat()) digits.fill('0', start * 2, (start + length) * 2)
  }
  return hexToBytes(digits.toString('latin1'))
}
