/** What tests call of AssemblyScript's compiler. */
interface AssemblyCompiler {
  main(
    options: readonly string[],
    files: {
      /** null: there is no such file */
      readFile(name: string, directory: string): string | null | Promise<string | null>
      writeFile(name: string, contents: string | Uint8Array): void
      listFiles(): readonly string[]
    },
  ): Promise<{ readonly error: Error | null; readonly stderr: { toString(): string } }>
}

/** A name that TypeScript does not follow: the package's own types declare a global `console` that can do nothing but `log`. */
const NAME: string = 'assemblyscript/asc'

/** AssemblyScript's compiler, for modules that a test makes up. */
export const assemblyCompiler = ((await import(NAME)) as { readonly default: AssemblyCompiler }).default
