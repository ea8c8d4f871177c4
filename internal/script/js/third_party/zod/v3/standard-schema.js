export{};
