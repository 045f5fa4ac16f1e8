import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { create, createFileRegistry, type DescFile, type FileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type FileDescriptorProto, FileDescriptorSetSchema, type SourceCodeInfo_Location } from '@bufbuild/protobuf/wkt'
import { typesOfAny } from '../src/rpc/cosmos/anyTypes.ts'
import { describeMethods } from '../src/rpc/cosmos/grpc/descriptors.ts'
import { QUERIES } from '../src/rpc/cosmos/queries.ts'

/*
 * Compiles the .proto files of the Cosmos SDK, of cosmos/evm and of CometBFT that declare the node's answers, with their comments,
 * for reflection. Run it by hand when a query or message is added, or for another release of them:
 *
 *   node scripts/sdkFiles.ts NEW_SDK/proto COSMOS_SDK/proto COSMOS_EVM/proto COMETBFT/proto GOGOPROTO COSMOS_PROTO/proto GOOGLEAPIS
 *
 * The directories are of the releases that SOURCES names: the first for the staking module alone, the last with google/api. It needs
 * `protoc` of Debian's package protobuf-compiler. The tests compare the node's own tables with the file.
 */

const SOURCES = {
  'cosmos-sdk staking': 'v0.55.0',
  'cosmos-sdk': 'v0.53.4',
  'cosmos/evm': 'v0.7.3',
  cometbft: 'v0.38.17',
  gogoproto: 'v1.7.2',
  'cosmos-proto': 'v1.0.0-beta.5',
} as const
const OUT = join(import.meta.dirname, '../src/rpc/cosmos/grpc/sdkFiles.json')

const roots = process.argv.slice(2)
if (roots.length !== 7) {
  console.error(`seven directories: ${Object.keys(SOURCES).join(', ')} and googleapis`)
  process.exit(2)
}
const compiled = compile(roots)
const stripped = neededFiles(compiled).map(({ proto }) => withCommentsAlone(proto))
const bytes = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: stripped }))
const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).toString('base64')
writeFileSync(OUT, `${JSON.stringify({ sources: SOURCES, brotli }, undefined, 2)}\n`)
console.log(`${stripped.length} files, ${bytes.length} bytes, ${brotli.length} in base64`)

/** Compiles everything below the second to fourth directory, and the staking module of the first. */
function compile([newSdk, ...directories]: readonly string[]): FileRegistry {
  const names = directories
    .slice(0, 3)
    .flatMap((root) => readdirSync(root, { recursive: true, encoding: 'utf8' }))
    .filter((name) => /^(cosmos|tendermint)\/.*\.proto$/.test(name))
  const folder = mkdtempSync(join(tmpdir(), 'coind-protos-'))
  try {
    const out = join(folder, 'set.binpb')
    const staking = join('cosmos', 'staking')
    cpSync(join(newSdk!, staking), join(folder, staking), { recursive: true })
    const flags = [...[folder, ...directories].map((root) => `-I${root}`), '--include_imports', '--include_source_info']
    const { status, stderr } = spawnSync('protoc', [...flags, `--descriptor_set_out=${out}`, ...new Set(names)], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`protoc failed: ${stderr}`)
    return createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(out)))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns the files that declare the node's messages and services, after those that they import. */
function neededFiles(registry: FileRegistry): DescFile[] {
  const needed = new Set<DescFile>()
  const add = (file: DescFile): void => {
    if (needed.has(file)) return
    for (const imported of file.dependencies) add(imported)
    needed.add(file)
  }
  for (const { kind, typeName } of describeMethods(QUERIES.values(), typesOfAny())) {
    const found = kind === 'message' || kind === 'service' ? registry.get(typeName) : undefined
    if (found !== undefined && found.kind !== 'extension') add(found.file)
  }
  return [...needed]
}

/** Places in the source are of no use without it. */
function withCommentsAlone(file: FileDescriptorProto): FileDescriptorProto {
  const isCommented = ({ leadingComments, trailingComments }: SourceCodeInfo_Location): boolean =>
    leadingComments !== '' || trailingComments !== ''
  const location = (file.sourceCodeInfo?.location ?? [])
    .filter(isCommented)
    .map((place) => ({ ...place, span: [0, 0, 0], leadingDetachedComments: [] }))
  return { ...file, sourceCodeInfo: { ...file.sourceCodeInfo!, location } }
}
