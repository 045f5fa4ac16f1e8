import { brotliDecompressSync } from 'node:zlib'
import { create, createFileRegistry, type FileRegistry, fromBinary } from '@bufbuild/protobuf'
import { type FileDescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import sdk from './sdkFiles.json' with { type: 'json' }

/** The .proto files of the Cosmos SDK, cosmos/evm and CometBFT with what the node answers, as `scripts/sdkFiles.ts` has compiled them. */
export function readSdkFiles(): readonly FileDescriptorProto[] {
  return fromBinary(FileDescriptorSetSchema, brotliDecompressSync(Buffer.from(sdk.brotli, 'base64'))).file
}

/**
 * What reflection tells: the SDK's own files, with its comments and options, and for packages that are not its own, the node's.
 * @param own made from the node's tables
 */
export function reflectedFiles(own: FileRegistry): FileRegistry {
  const theirs = readSdkFiles()
  const names = new Set(theirs.map(({ name }) => name))
  const ofPackage = Map.groupBy(theirs, (file) => file.package)
  const others = [...own.files]
    .map(({ proto }) => proto)
    .filter((file) => !names.has(file.name) && !ofPackage.has(file.package))
    .map((file): FileDescriptorProto => {
      const dependency = file.dependency.flatMap((name) => {
        const inOwn = own.getFile(name)?.proto.package
        return names.has(name) ? [name] : (ofPackage.get(inOwn ?? '')?.map((theirFile) => theirFile.name) ?? [name])
      })
      return { ...file, dependency: [...new Set(dependency)] }
    })
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...theirs, ...others] }))
}
