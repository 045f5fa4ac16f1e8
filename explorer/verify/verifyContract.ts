import type { Kysely } from 'kysely'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import type { Tables } from '../database/schema.ts'
import { type NodeClient, NodeError } from '../node/nodeClient.ts'
import { type Creation, readChainCode } from './chainCode.ts'
import {
  type CompiledCode,
  CompileError,
  type CompileLimits,
  type ContractName,
  compile,
  type NamedContract,
} from './compile.ts'
import { CompilerMissing, type Compilers } from './compilers.ts'
import { type CodeMatch, matchCreation, matchRuntime } from './matchCode.ts'
import { type StandardJson, withOtherMetadata } from './standardJson.ts'
import type { VerifiedCode, VerifiedContent } from './verifiedContracts.ts'

/** A client's request for a verification. */
export interface VerificationRequest {
  readonly address: Uint8Array
  readonly input: StandardJson
  /** one of {@link Compilers.versions} */
  readonly version: string
  /** undefined: whichever contract of the sources it is */
  readonly wanted: ContractName | undefined
}

/** Why a contract is not verified: one of Sourcify's error codes, and a line for the client. */
export class VerificationFailure extends Error {
  override readonly name = 'VerificationFailure'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

interface VerifyParts {
  readonly queries: Kysely<Tables>
  readonly node: NodeClient
  readonly compilers: Compilers
  readonly limits: CompileLimits
  readonly stop: AbortSignal
  /** told when the operator can do something about it */
  readonly warn: (error: CompilerMissing) => void
}

interface Verified {
  readonly content: VerifiedContent
  readonly created: Creation | undefined
  readonly compileMs: number
}

/**
 * Compiles sources and compares them with a contract of the chain.
 * @throws VerificationFailure
 */
export async function verifyContract(request: VerificationRequest, parts: VerifyParts): Promise<Verified> {
  const { address, input, version, wanted } = request
  const chain = await fromNode(() => readChainCode(parts.queries, parts.node, address))
  if (chain.runtime.length === 0) {
    throw new VerificationFailure(
      'contract_not_deployed',
      `there is no contract at ${bytesToHex(address)}: check the address`,
    )
  }
  const solc = await loadCompiler(version, parts)
  const startMs = performance.now()
  const compiled = await compileSources(solc, input, wanted, parts)
  const compileMs = Math.round(performance.now() - startMs)
  if (compiled.length === 0) {
    const what = wanted === undefined ? 'a contract' : `${wanted.path}:${wanted.name}`
    throw new VerificationFailure('contract_not_found_in_compiler_output', `the sources do not contain ${what}`)
  }
  // Compiled once at most, and only where the code differs by what may be metadata.
  let changed: Promise<readonly NamedContract[]> | undefined
  const changedOf = async (path: string, name: string): Promise<NamedContract | undefined> => {
    changed ??= compileSources(solc, withOtherMetadata(input), wanted, parts)
    return (await changed).find((own) => own.path === path && own.name === name)
  }
  let best: { readonly content: VerifiedContent; readonly rank: number } | undefined
  for (const { path, name, contract } of compiled) {
    const { abi, metadata, userdoc, devdoc, storageLayout = null, evm } = contract
    const runtime = await matchRuntime({
      address,
      onchain: chain.runtime,
      compiled: evm.deployedBytecode,
      changed: async () => (await changedOf(path, name))?.contract.evm.deployedBytecode,
    })
    const creation =
      chain.creation === undefined
        ? undefined
        : await matchCreation({
            abi,
            onchain: chain.creation,
            compiled: evm.bytecode,
            runtime: evm.deployedBytecode,
            changed: async () => (await changedOf(path, name))?.contract.evm.bytecode,
          })
    const rank = rankOf(runtime) + rankOf(creation)
    if (rank <= (best?.rank ?? 0)) continue
    const content: VerifiedContent = {
      path,
      name,
      compilerVersion: version,
      input,
      abi,
      metadata,
      userdoc,
      devdoc,
      storageLayout,
      runtime: codeOf(chain.runtime, evm.deployedBytecode, runtime),
      creation: chain.creation === undefined ? null : codeOf(chain.creation, evm.bytecode, creation),
    }
    best = { content, rank }
  }
  if (best === undefined) {
    const text = 'the deployed code differs from the compiled sources: check the compiler version and settings'
    throw new VerificationFailure('no_match', text)
  }
  return { content: best.content, created: chain.created, compileMs }
}

function rankOf(match: CodeMatch | undefined): number {
  return match === undefined ? 0 : match.match === 'exact_match' ? 3 : 1
}

function codeOf(
  onchain: Uint8Array,
  { object, sourceMap, linkReferences, immutableReferences }: CompiledCode,
  match: CodeMatch | undefined,
): VerifiedCode {
  return {
    onchain: bytesToHex(onchain),
    recompiled: `0x${object}`,
    match: match ?? null,
    ...(sourceMap === undefined ? {} : { sourceMap }),
    ...(linkReferences === undefined ? {} : { linkReferences }),
    ...(immutableReferences === undefined ? {} : { immutableReferences }),
  }
}

async function fromNode<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    // Its text names the node's address, which clients must not learn.
    if (!(error instanceof NodeError)) throw error
    throw new VerificationFailure('cannot_fetch_bytecode', 'the node does not respond at the moment: try again later')
  }
}

async function loadCompiler(version: string, { compilers, stop, warn }: VerifyParts): Promise<Uint8Array> {
  try {
    return await compilers.load(version, stop)
  } catch (error) {
    if (!(error instanceof CompilerMissing)) throw error
    warn(error)
    const text = `the explorer cannot get the compiler ${version} now: try again later, or ask the operator`
    throw new VerificationFailure('unsupported_compiler_version', text)
  }
}

async function compileSources(
  solc: Uint8Array,
  input: StandardJson,
  wanted: ContractName | undefined,
  { limits, stop }: VerifyParts,
): Promise<readonly NamedContract[]> {
  try {
    return await compile(solc, input, wanted, limits, stop)
  } catch (error) {
    if (!(error instanceof CompileError)) throw error
    throw new VerificationFailure('compiler_error', error.message)
  }
}
