import { z } from 'zod'
import { address } from './shapes.ts'

/* What the API tells of contracts whose sources are known. */

const match = z
  .enum(['exact_match', 'match'])
  .nullable()
  .describe(
    'exact_match: also the hash of the metadata, so the sources are the same to the byte; match: the code; null: neither',
  )

export const contractSource = z.object({
  address,
  name: z.string(),
  path: z.string().describe('of the source that has it'),
  language: z.enum(['Solidity', 'Yul']),
  compilerVersion: z.string(),
  match: match.describe('the better of the two'),
  runtimeMatch: match.describe('of the code at the address'),
  creationMatch: match.describe('of the code that created it'),
  verifiedAt: z.iso.datetime(),
  abi: z.array(z.looseObject({ type: z.string() })),
  constructorArguments: z
    .string()
    .nullable()
    .describe('0x…, ABI-encoded; null: there are none, or the code that created it is not known'),
  libraries: z.array(z.object({ name: z.string(), address: z.string() })).describe('that it calls, by path and name'),
  settings: z.record(z.string(), z.unknown()).describe('of the compiler'),
  sources: z.array(z.object({ path: z.string(), content: z.string() })),
})

export const contractInterface = z
  .object({
    name: z.string().nullable(),
    abi: contractSource.shape.abi.nullable(),
  })
  .describe('null: it is not verified')

export const compilerList = z.object({
  versions: z.array(z.string()).describe('of solc that may be used to verify contracts, the newest first'),
})

export type ContractSource = z.infer<typeof contractSource>
