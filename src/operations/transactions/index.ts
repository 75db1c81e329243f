import { alterTransaction } from "./alter-transaction.js";
import { describeTransaction } from "./describe-transaction.js";

export const transactions = [describeTransaction, alterTransaction];
