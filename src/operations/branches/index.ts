import { createTableBranch } from "./create-table-branch.js";
import { deleteTableBranch } from "./delete-table-branch.js";
import { listTableBranches } from "./list-table-branches.js";

export const branches = [listTableBranches, createTableBranch, deleteTableBranch];
