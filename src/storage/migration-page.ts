/** The page that messages name if a saved memory and its program differ. */
export const MIGRATION_PAGE = "docs/migrate-memory.md";
