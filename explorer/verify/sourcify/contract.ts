import type { Kysely } from 'kysely'
import { toChecksumAddress } from '../../../src/primitives/address.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { heightOf, transactionIndexOf } from '../../database/position.ts'
import type { Tables } from '../../database/schema.ts'
import { bestMatch, type VerifiedCode, type VerifiedContract, type VerifiedSource } from '../verifiedContracts.ts'

/** A request names unknown fields of a contract. The message is for the client. */
export class FieldError extends Error {
  override readonly name = 'FieldError'
}

type View = Readonly<Record<string, unknown>>

/** Shows a verified contract as in Sourcify's lists. */
export function viewBriefly(
  { number, address, runtimeMatch, creationMatch, verifiedAtMs }: VerifiedContract,
  chainId: string,
): View {
  return {
    match: bestMatch(runtimeMatch, creationMatch),
    creationMatch,
    runtimeMatch,
    chainId,
    address: toChecksumAddress(address),
    verifiedAt: new Date(verifiedAtMs).toISOString(),
    matchId: String(number),
  }
}

/** Shows a verified contract with all of Sourcify's fields. */
export async function viewContract(queries: Kysely<Tables>, contract: VerifiedSource, chainId: string): Promise<View> {
  const { position, content } = contract
  const { path, name, compilerVersion, input, abi, metadata, userdoc, devdoc, storageLayout, runtime, creation } =
    content
  return {
    ...viewBriefly(contract, chainId),
    creationBytecode: creation === null ? null : viewCode(creation),
    runtimeBytecode: { ...viewCode(runtime), immutableReferences: runtime.immutableReferences ?? {} },
    deployment: await viewDeployment(queries, position),
    sources: input.sources,
    compilation: {
      language: input.language,
      compiler: 'solc',
      compilerVersion,
      compilerSettings: input.settings,
      name,
      fullyQualifiedName: `${path}:${name}`,
    },
    abi,
    userdoc,
    devdoc,
    storageLayout,
    metadata: metadata === '' ? null : JSON.parse(metadata),
    stdJsonInput: input,
  }
}

function viewCode({ onchain, recompiled, sourceMap, linkReferences, match }: VerifiedCode): View {
  return {
    onchainBytecode: onchain,
    recompiledBytecode: recompiled,
    sourceMap: sourceMap ?? null,
    linkReferences: linkReferences ?? {},
    transformations: match?.transformations ?? null,
    transformationValues: match?.transformationValues ?? null,
  }
}

async function viewDeployment(queries: Kysely<Tables>, position: number | null): Promise<View> {
  const transaction =
    position === null
      ? undefined
      : await queries.selectFrom('tx').select(['hash', 'sender']).where('position', '=', position).executeTakeFirst()
  if (transaction === undefined || position === null) {
    return { transactionHash: null, blockNumber: null, transactionIndex: null, deployer: null }
  }
  return {
    transactionHash: bytesToHex(transaction.hash),
    blockNumber: String(heightOf(position)),
    transactionIndex: String(transactionIndexOf(position)),
    deployer: toChecksumAddress(transaction.sender),
  }
}

/**
 * Selects fields of a contract by Sourcify's query parameters `fields` or `omit`: comma-separated names, `compilation.language` for a field
 * within another. `fields=all` selects all of them.
 * @param always the fields of {@link viewBriefly}, which every answer has
 * @throws FieldError
 */
export function selectFields(contract: View, always: View, { fields, omit }: Readonly<Record<string, unknown>>): View {
  if (fields !== undefined && omit !== undefined) throw new FieldError('fields and omit cannot be used together')
  if (fields !== undefined) {
    const paths = pathsOf(contract, fields)
    if (paths.some(([name]) => name === 'all')) return contract
    return paths.reduce<View>((view, path) => withField(view, contract, path), always)
  }
  return { ...pathsOf(contract, omit).reduce<View>(withoutField, contract), ...always }
}

function pathsOf(contract: View, text: unknown): readonly (readonly [string, string | undefined])[] {
  if (typeof text !== 'string')
    throw new FieldError('fields and omit must be comma-separated names and may appear once')
  return text.split(',').map((path) => {
    const [name = '', inner, ...more] = path.split('.')
    const own = Object.hasOwn(contract, name) ? contract[name] : undefined
    const isKnown =
      name === 'all' ||
      name === '*' ||
      (Object.hasOwn(contract, name) && (inner === undefined || own === null || hasField(own, inner)))
    if (more.length > 0 || !isKnown) throw new FieldError(`${path.slice(0, 100)} is not a field of a contract`)
    return [name === '*' ? 'all' : name, inner] as const
  })
}

function hasField(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
}

function withField(view: View, contract: View, [name, inner]: readonly [string, string | undefined]): View {
  const own = contract[name]
  if (inner === undefined || own === null) return { ...view, [name]: own }
  return { ...view, [name]: { ...(view[name] as View | undefined), [inner]: (own as View)[inner] } }
}

function withoutField(view: View, [name, inner]: readonly [string, string | undefined]): View {
  const own = view[name]
  const rest = (of: View, left: string): View => Object.fromEntries(Object.entries(of).filter(([key]) => key !== left))
  if (inner === undefined || own === null || own === undefined) return rest(view, name)
  return { ...view, [name]: rest(own as View, inner) }
}
